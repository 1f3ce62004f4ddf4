# By the kvm backend, on AMD's SVM: the suites that all backends share.
# needs: /usr/bin/strip /usr/bin/objcopy
run python3 "$TESTS/conformance/conformance.py" "$BUILD" kvm kvm --exits-apart
run python3 "$TESTS/conformance/modes.py" "$BUILD" kvm kvm --exits-apart
run python3 "$TESTS/conformance/machines.py" "$BUILD" kvm kvm --exits-apart
run python3 "$TESTS/conformance/images.py" "$BUILD" kvm kvm
run python3 "$TESTS/conformance/kill.py" "$BUILD" kvm kvm
for backend in gdb qmp; do
	run python3 "$TESTS/conformance/conformance.py" "$BUILD" $backend kvm \
		--exits-apart --only demo
done
