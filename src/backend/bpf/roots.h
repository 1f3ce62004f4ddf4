/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * roots.h: does a guest change the roots of its page tables?
 *
 * On an arm64 host whose kernel runs in EL2 (VHE), a sample has a guest's TTBR0_EL1 and
 * TTBR1_EL1 as they were when the thread last gave up its CPU (US_BPF_OLD_EL1).  They
 * are right for a guest that never changes them.  A guest that does change them is
 * detected, because its threads give up their CPUs at any time, and these values then
 * differ.  Stacks in that half of the addresses are not trusted any more: they would be
 * read from another address space.
 *
 * Nothing is trusted until the thread has given up its CPU often enough.  A guest that
 * is hardly ever in its other address spaces may be detected late, or not at all.
 */
#ifndef US_BACKEND_BPF_ROOTS_H
#define US_BACKEND_BPF_ROOTS_H

#include "backend/bpf/sample.h"
#include "vmm/guest_list.h"

/* Initialized with zeroes: nothing is known. */
struct us_bpf_roots {
	struct us_bpf_root {
		us_gpa at[2]; /* the roots of the lower and the upper half */
		uint64_t saves;
		bool seen;
	} vcpu[US_MAX_VCPUS];
	uint32_t same[2]; /* times the CPU was given up without a change, since the last
			     change */
	bool changes[2];  /* the guest was seen to change them */
	bool old, fresh;  /* there are samples of the guest with old values, with new
			     ones */
};

/* Hot path.  A sample of a vCPU on an arm64 host has come. */
void us_bpf_roots_see(struct us_bpf_roots *r, unsigned vcpu,
		      const struct us_bpf_sample *l);

/* May this half of the addresses be read with a sample that has US_BPF_OLD_EL1? */
bool us_bpf_roots_known(const struct us_bpf_roots *r, bool upper);

/* Would more samples help, even if nobody waits for them? */
bool us_bpf_roots_need_more(const struct us_bpf_roots *r);

/* Hot path.  Remove from regs and window, made from the sample, what cannot be trusted.
 */
void us_bpf_roots_doubt(const struct us_bpf_roots *r, const struct us_bpf_sample *l,
			struct us_regs *regs, struct us_stack_copy *window);

/* Setup path.  Run for a moment on the thread's CPU, so that the thread gives it up.
 * Afterwards this thread may run where it could before. */
void us_bpf_roots_visit(pid_t pid, pid_t tid);

#endif
