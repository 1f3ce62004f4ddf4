# By the stub of QEMU, on KVM of ARM: the suite that all backends share.
run python3 "$TESTS/conformance/conformance.py" "$BUILD" gdb kvm aarch64 --exits-apart
