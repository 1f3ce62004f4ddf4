# SPDX-License-Identifier: GPL-2.0-or-later
# By the backend bpf, on KVM of ARM whose host runs in EL2: the stack pointer is not
# known there, so stacks without frame pointers are cut.
run python3 "$TESTS/conformance/conformance.py" "$BUILD" bpf kvm aarch64 --exits-apart \
	--only shares --only demo --only leaf --only recurse --only switch --only spaces \
	--only idle --only "garbage frame" --only cyclic --only budget --only "two guests"
run python3 "$TESTS/conformance/kill.py" "$BUILD" bpf kvm aarch64
