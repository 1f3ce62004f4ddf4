# SPDX-License-Identifier: GPL-2.0-or-later
# Whose the samples of a KVM guest are, by the backend $1: programs, their files and, by kvm,
# threads, the kernel's own threads, processes that end at once; and what tasks wait in.  Of
# Debian's kernels.  By bpf on one CPU, as bpf.sh.
# needs: packages/linux-image-*-cloud-amd64/boot/vmlinuz-*
# needs: packages/linux-image-*-cloud-amd64/unpacked
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/kernel/drivers/virtio/*.ko
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/kernel/drivers/block/virtio_blk.ko
# needs: tests/linux/owners/threads tests/linux/owners/short-a tests/linux/owners/short-b
# needs: tests/linux/owners/stops.so
# needs: tests/linux/rust/rust tests/linux/fpc-gw2/fpc-gw2
# linux: trixie trixie-backports
for kernel in "" trixie trixie-backports; do
	run python3 "$TESTS/linux/test_owners.py" "$BUILD" "$kernel" --backend "$1" --accel kvm \
		--seconds 60
	run python3 "$TESTS/linux/test_tasks.py" "$BUILD" "$kernel" --backend "$1" --accel kvm \
		--only tasks:
done
