# SPDX-License-Identifier: GPL-2.0-or-later
# As viewers.sh, by the backend bpf; on one CPU, as bpf.sh.
# needs: tests/linux/frames tests/linux/frames.dive
# needs: packages/linux-image-*-cloud-amd64/boot/vmlinuz-*
# needs: packages/linux-image-*-cloud-amd64/unpacked
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/kernel/drivers/virtio/*.ko
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/kernel/drivers/block/virtio_blk.ko
run python3 "$TESTS/serve/ways.py" "$BUILD" bpf kvm
# What programs have is read a part each second, of CPU time: slowly here.
run python3 "$TESTS/linux/test_frames.py" "$BUILD" --made "$BUILD/tests/linux" --seconds 30 \
	--backend bpf --accel kvm
