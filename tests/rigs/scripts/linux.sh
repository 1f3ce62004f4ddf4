# Debian's Linux as a guest of KVM.
# needs: packages/linux-image-*-cloud-amd64/boot/vmlinuz-*
# needs: packages/linux-image-*-cloud-amd64/unpacked
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/kernel/drivers/virtio/*.ko
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/kernel/drivers/block/virtio_blk.ko
run python3 $TESTS/linux/test_linux.py $BUILD --backend kvm --accel kvm --seconds 20 \
	--only "guest memory alone: 4-level"
for what in tasks processes; do
	run python3 $TESTS/linux/test_linux.py $BUILD --backend kvm --accel kvm --only $what
done
