# By the kvm backend, on AMD's SVM: what needs real KVM most, and no statistics of a host
# that is emulated.  kvm-all.sh has the shares.
limit=300
# needs: tests/unit/test-backend-kvm tests/unit/test-backend-kvm-vcpu
for name in test-backend-kvm test-backend-kvm-vcpu; do
	CMOCKA_MESSAGE_OUTPUT=TAP US_BUILD_ROOT=$BUILD US_FEWER=1 \
		run sh "$TESTS/unit/run-unit" "$BUILD/tests/unit/$name"
done
run python3 "$TESTS/conformance/conformance.py" "$BUILD" kvm kvm --short --only "ring 3 without"
run python3 "$TESTS/conformance/kill.py" "$BUILD" kvm kvm --times 1
