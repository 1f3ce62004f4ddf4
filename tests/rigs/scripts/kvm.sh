# By the kvm backend, on AMD's SVM: what needs real KVM most, and no statistics of a host
# that is emulated.  kvm-all.sh has the shares.  With the word "rest" what the machine has
# done by a KVM of its own, where it has one, is not done again.
limit=300
# needs: tests/unit/test-backend-kvm tests/unit/test-backend-kvm-vcpu
twice=1
[ "$1" != rest ] || [ ! -e /rig/kvm-outside ] || twice=
for name in ${twice:+test-backend-kvm test-backend-kvm-vcpu}; do
	CMOCKA_MESSAGE_OUTPUT=TAP US_BUILD_ROOT=$BUILD US_FEWER=1 \
		run sh "$TESTS/unit/run-unit" "$BUILD/tests/unit/$name"
done
run python3 "$TESTS/conformance/conformance.py" "$BUILD" kvm kvm --short --only "ring 3 without"
[ ! "$twice" ] || run python3 "$TESTS/conformance/kill.py" "$BUILD" kvm kvm --times 1
# Yama's last setting: nobody may look into a process, and it cannot be taken back.
echo 3 >/proc/sys/kernel/yama/ptrace_scope
qemu-system-x86_64 -M microvm,accel=kvm -m 64 -display none -serial null \
	-kernel "$BUILD/tests/guests/demo.elf" </dev/null >/dev/null 2>&1 &
ok="not ok"
for _ in $(seq 60); do
	uniscope ps $! >/tmp/out 2>&1
	[ "$(grep -Ec '(bpf|kvm) +no: .*ptrace_scope is 3' /tmp/out)" = 2 ] && ok=ok && break
	sleep 1
done
kill $!
sed 's/^/# /' /tmp/out
echo "$ok 1 - bpf and kvm are refused where Yama forbids all"
echo 1..1
