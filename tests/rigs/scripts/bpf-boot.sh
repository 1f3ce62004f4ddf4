# SPDX-License-Identifier: GPL-2.0-or-later
# Boots by KVM's tracepoints and by samples, on AMD's SVM.  Breakpoints do not stop a guest
# here: this emulation of SVM does not look at the guest's debug registers.
# needs: tests/guests/leaf.elf tests/guests/idle.elf
run python3 "$TESTS/conformance/boot_kvm.py" "$BUILD" --cpu host
