# SPDX-License-Identifier: GPL-2.0-or-later
# By the backend bpf, on KVM of ARM.
run python3 "$TESTS/conformance/conformance.py" "$BUILD" bpf kvm aarch64 --exits-apart
run python3 "$TESTS/conformance/kill.py" "$BUILD" bpf kvm aarch64
