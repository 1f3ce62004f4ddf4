/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wait.h: does an arm64 guest that has its host CPU do nothing but wait?
 *
 * KVM lets the WFI of a vCPU that has a host CPU for itself happen in the guest
 * (arch/arm64/kvm/arm.c, kvm_arch_vcpu_load()): a tick then finds it right behind that
 * instruction.  A tick that falls due as it has just ended finds it there too.  Where
 * the WFI is an exit, pc is at that instruction until KVM has waited on its behalf.
 */
#ifndef US_BACKEND_BPF_WAIT_H
#define US_BACKEND_BPF_WAIT_H

#include "guest/paging.h"

#define US_BPF_WAIT_PLACES 64

/* Of one guest.  Where it was found is remembered until it is forgotten. */
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

/* Hot path.  exited: by an instruction, it is not in the guest.  True on other
 * processors and where the code cannot be read if it exited: then KVM's word counts. */
bool us_bpf_wait_is(struct us_bpf_wait *w, const struct us_regs *regs, bool exited);

#endif
