/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvm/vcpu_file.h: is the vCPU that uniscope looks at still the VMM's?
 *
 * A VMM may make its machine anew in the same process: cloud-hypervisor for a reboot,
 * one that executes itself for an update.  The new vCPU's descriptor mostly has the
 * number of the old one, and maybe the same thread runs it.  What is mapped of the old
 * one stays readable, and never changes again.
 */
#ifndef US_BACKEND_KVM_VCPU_FILE_H
#define US_BACKEND_KVM_VCPU_FILE_H

#include "vmm/guest_list.h"

struct us_kvm_vcpu_file {
	/* A socket that has the file in its queue: so it can be told from later ones,
	 * and whoever looks for processes with a vCPU does not find us.  Or -1. */
	int kept;
	pid_t self, pid;
	struct us_vcpu vcpu;
};

/*
 * Take it from the process behind pidfd, whose number is pid.  Returns a descriptor
 * that the caller is to close soon, or -errno; then there is nothing to close.
 */
US_MUST_CHECK int us_kvm_vcpu_file_open(struct us_kvm_vcpu_file *f, int pidfd,
					pid_t pid, const struct us_vcpu *which);
void us_kvm_vcpu_file_close(struct us_kvm_vcpu_file *f); /* accepts zeroed memory */

/*
 * Hot path, three system calls while it has not: has the VMM closed it?  tid: a thread
 * of the VMM, 0 is its first one.  False as well if the kernel does not tell (no
 * kcmp(), or a filter).
 */
bool us_kvm_vcpu_file_is_closed(const struct us_kvm_vcpu_file *f, pid_t tid);

#endif
