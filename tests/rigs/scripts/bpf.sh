# SPDX-License-Identifier: GPL-2.0-or-later
# By the backend bpf, on AMD's SVM.  On one CPU: the first and the last perf event make
# Linux patch its scheduler, as the first and the last machine do (kvm.sh beside rigs.py).
# needs: /usr/bin/strip /usr/bin/objcopy tests/unit/test-backend-bpf tests/unit/test-backend-bpf-time
# needs: tests/unit/test-backend-bpf-vmx tests/unit/test-backend-bpf-as-vmx
# needs: tests/unit/test-backend-bpf-types tests/unit/test-backend-bpf-files
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/kernel/arch/x86/kvm/kvm-intel.ko
for name in test-backend-bpf test-backend-bpf-time test-backend-bpf-vmx test-backend-bpf-as-vmx \
	test-backend-bpf-types test-backend-bpf-files; do
	CMOCKA_MESSAGE_OUTPUT=TAP US_BUILD_ROOT=$BUILD \
		run sh "$TESTS/unit/run-unit" "$BUILD/tests/unit/$name"
done
run python3 "$TESTS/conformance/conformance.py" "$BUILD" bpf kvm --exits-apart
run python3 "$TESTS/conformance/kill.py" "$BUILD" bpf kvm
if uniscope doctor --bpf >/tmp/out 2>&1; then ok=ok; else ok="not ok"; fi
sed 's/^/# /' /tmp/out
echo "$ok 1 - bpf passes the check of doctor"
echo 1..1
