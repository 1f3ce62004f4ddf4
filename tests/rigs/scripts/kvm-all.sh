# By the kvm backend, on AMD's SVM: the suites that all backends share.
# needs: /usr/bin/strip /usr/bin/objcopy tests/unit/test-backend-kvm
CMOCKA_MESSAGE_OUTPUT=TAP US_BUILD_ROOT=$BUILD \
	run sh "$TESTS/unit/run-unit" "$BUILD/tests/unit/test-backend-kvm"
run python3 "$TESTS/conformance/conformance.py" "$BUILD" kvm kvm --exits-apart
# Not compatibility mode: QEMU 7.2's emulation of SVM lets no interrupt through to the
# host once a guest is in it, uniscope or not.
run python3 "$TESTS/conformance/modes.py" "$BUILD" kvm kvm --exits-apart --only flat \
	--only 2level --only large --only pae
run python3 "$TESTS/conformance/machines.py" "$BUILD" kvm kvm --exits-apart
run python3 "$TESTS/conformance/images.py" "$BUILD" kvm kvm
run python3 "$TESTS/conformance/kill.py" "$BUILD" kvm kvm
for backend in gdb qmp; do
	run python3 "$TESTS/conformance/conformance.py" "$BUILD" $backend kvm \
		--exits-apart --only demo
done
