# SPDX-License-Identifier: GPL-2.0-or-later
# A host with KVM.  The memory of a guest that does not touch it may be more than there is.
echo 1 >/proc/sys/vm/overcommit_memory
[ -c /dev/kvm ] || say "no /dev/kvm"

# One virtual machine that never runs is there from the first to the last.  Linux patches
# its scheduler when the first comes and the last goes (preempt_notifier_key), by a
# breakpoint for a moment (text_poke), and its local APIC likewise (apic_sw_disabled).
# QEMU's emulation of several CPUs can miss the end of such a patch, and runs into the
# breakpoint for ever: after less than 20 machines in a row, with none kept.
# In flight between two sockets nobody has the files open: no VMM is to be found.
keep_a_machine() {
	python3 - <<-'END' &
		import fcntl, os, signal, socket
		KVM_CREATE_VM, KVM_CREATE_VCPU, KVM_CREATE_IRQCHIP = 0xAE01, 0xAE41, 0xAE60
		machine = fcntl.ioctl(os.open("/dev/kvm", os.O_RDWR), KVM_CREATE_VM, 0)
		fcntl.ioctl(machine, KVM_CREATE_IRQCHIP, 0)
		vcpu = fcntl.ioctl(machine, KVM_CREATE_VCPU, 0)
		one, other = socket.socketpair()
		socket.send_fds(one, [b"kept"], [machine, vcpu])
		os.close(machine)
		os.close(vcpu)
		open("/run/kept", "w").close()
		signal.pause()
	END
	for _ in $(seq 500); do
		[ -e /run/kept ] && return
		usleep 20000
	done
	say "no machine is kept"
}
[ "$(uname -m)" != x86_64 ] || keep_a_machine
