# Tasks and processes of Debian's Linux as a guest of KVM, by the backend bpf: their list
# is read while the guest runs.
# needs: packages/linux-image-*-cloud-amd64/boot/vmlinuz-*
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/kernel/drivers/virtio/*.ko
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/kernel/drivers/block/virtio_blk.ko
# needs: packages/linux-image-*-cloud-amd64/unpacked
for what in tasks processes; do
	run python3 "$TESTS/linux/test_linux.py" "$BUILD" --backend bpf --accel kvm --only $what
done
