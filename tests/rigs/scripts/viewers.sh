# SPDX-License-Identifier: GPL-2.0-or-later
# What is looked at live under KVM, by the backend kvm: uniscope serve, and whole stacks of
# a Linux guest's program that nobody names.
# needs: tests/linux/frames tests/linux/frames.dive
# needs: packages/linux-image-*-cloud-amd64/boot/vmlinuz-*
# needs: packages/linux-image-*-cloud-amd64/unpacked
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/kernel/drivers/virtio/*.ko
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/kernel/drivers/block/virtio_blk.ko
run python3 "$TESTS/serve/ways.py" "$BUILD" kvm kvm --seconds 20
run python3 "$TESTS/linux/test_frames.py" "$BUILD" --made "$BUILD/tests/linux" --seconds 15 \
	--backend kvm --accel kvm
