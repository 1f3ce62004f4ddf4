# A kernel of a KVM guest that starts another, and one that starts again, while it is
# recorded by the backend $1.
# needs: tests/linux/kexec
# needs: packages/linux-image-*-cloud-amd64/boot/vmlinuz-*
# needs: packages/linux-image-*-cloud-amd64/unpacked
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/kernel/drivers/virtio/*.ko
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/kernel/drivers/block/virtio_blk.ko
for kind in same fixed; do
	run python3 "$TESTS/linux/test_kexec.py" "$BUILD" $kind --backend "$1" --accel kvm \
		--made "$BUILD/tests/linux/kexec"
done
run python3 "$TESTS/linux/test_tasks.py" "$BUILD" reboot --backend "$1" --accel kvm
