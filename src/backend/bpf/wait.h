/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wait.h: is an arm64 guest that has its host CPU only waiting?
 *
 * If a vCPU has a host CPU for itself, KVM lets its WFI happen in the guest
 * (arch/arm64/kvm/arm.c, kvm_arch_vcpu_load()).  A tick then finds the vCPU right after
 * that instruction.  So does a tick that falls due when the wait has just ended.  If
 * the WFI is an exit, pc is at that instruction until KVM has waited on the vCPU's
 * behalf.
 */
#ifndef US_BACKEND_BPF_WAIT_H
#define US_BACKEND_BPF_WAIT_H

#include "guest/paging.h"

#define US_BPF_WAIT_PLACES 64

/* Of one guest.  Places where it was found are remembered until us_bpf_wait_forget().
 */
struct us_bpf_wait {
	struct us_paging paging;
	struct us_bpf_wait_place {
		us_gva at;
		us_gpa root;
		bool valid, waits;
	} place[US_BPF_WAIT_PLACES];
};

/* mem: the guest's, which stays the caller's. */
void us_bpf_wait_init(struct us_bpf_wait *w, struct us_mem *mem);

/* The guest may have other code there now. */
void us_bpf_wait_forget(struct us_bpf_wait *w);

/* Hot path.  exited: the vCPU left the guest because of an instruction.  If it exited,
 * this is also true on other processors and where the code cannot be read: then KVM's
 * word counts. */
bool us_bpf_wait_is(struct us_bpf_wait *w, const struct us_regs *regs, bool exited);

#endif
