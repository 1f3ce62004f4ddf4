# uniscope, cross compiled, on an ARM host with a KVM guest.
kernel=$BUILD/tests/guests/ports/leaf-aarch64.elf
qemu-system-aarch64 -name guest,debug-threads=on -M virt,gic-version=host -accel kvm \
	-cpu host -m 128 -nodefaults -display none -serial file:/tmp/log \
	-gdb unix:/tmp/gdb,server=on,wait=off -qmp unix:/tmp/qmp,server=on,wait=off \
	-kernel "$kernel" &
# For 300 s, unless it has ended: a rig is slow.
for _ in $(seq 1500); do
	! grep -q READY /tmp/log 2>/dev/null && kill -0 $! 2>/dev/null || break
	usleep 200000
done
point() { # NAME COMMAND...
	name=$1
	shift
	n=$((n + 1))
	if "$@" >/tmp/out 2>&1; then
		echo "ok $n - $name"
	else
		sed 's/^/# /' /tmp/out
		echo "not ok $n - $name"
		failed=1
	fi
}
says() { # TEXT COMMAND...: it fails, with these words
	text=$1
	shift
	! "$@" >/tmp/said 2>&1 || return 1
	cat /tmp/said
	grep -q "$text" /tmp/said
}
n=0
point "the guest runs under KVM" grep -q READY /tmp/log
point "ps names it" sh -c 'uniscope ps | grep -q guest'
point "the kvm backend says why not" says "shares vCPU registers" \
	uniscope dump --backend kvm $!
point "auto takes bpf" sh -c "uniscope dump $! 2>&1 | tee /dev/stderr | grep -q ' by bpf'"
echo "1..$n"
kill $!
run python3 "$TESTS/conformance/conformance.py" "$BUILD" gdb kvm aarch64 --only leaf --seconds 3
