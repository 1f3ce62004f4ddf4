# By the stub of QEMU, on KVM of ARM: the suite that all backends share; and where
# Debian's kernel is that waits in a panic, as it has no file system.
# needs: rigs/*/linux-image-cloud-arm64/boot/vmlinuz-*
run python3 "$TESTS/conformance/conformance.py" "$BUILD" gdb kvm aarch64 --exits-apart
kernel=$(ls "$BUILD"/rigs/*/linux-image-cloud-arm64/boot/vmlinuz-*)
qemu-system-aarch64 -name linux,debug-threads=on -M virt,gic-version=host -accel kvm \
	-cpu host -m 128 -nodefaults -display none -serial file:/tmp/log \
	-gdb unix:/tmp/gdb,server=on,wait=off -kernel "$kernel" -append console=ttyAMA0 &
for _ in $(seq 3000); do
	! grep -q "end Kernel panic" /tmp/log 2>/dev/null || break
	usleep 100000
done
uniscope dump gdb:/tmp/gdb | tee /tmp/out
echo 1..1
if grep -q "panic+" /tmp/out; then echo "ok 1 - a panic is named"; else
	echo "not ok 1 - a panic is named"
fi
kill $!
