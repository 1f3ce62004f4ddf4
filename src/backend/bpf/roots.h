/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * roots.h: does a guest change the roots of its page tables?
 *
 * On an arm64 host whose kernel runs in EL2 (VHE) a sample has a guest's TTBR0_EL1 and
 * TTBR1_EL1 as they were when the thread gave its CPU up last (US_BPF_OLD_EL1).  They
 * are right for a guest that never changes them.  One that does is found out, for its
 * threads give their CPUs up at any time: then these values change.  Stacks in that
 * half of the addresses are not trusted any more: they would be looked for in the
 * memory of some other address space.
 *
 * Until enough such moments have passed nothing is trusted.  A guest that is hardly
 * ever in its other spaces may be found out late, or not at all.
 */
#ifndef US_BACKEND_BPF_ROOTS_H
#define US_BACKEND_BPF_ROOTS_H

#include "backend/bpf/sample.h"
#include "vmm/guest_list.h"

/* Zeroed memory is a start: nothing is known. */
struct us_bpf_roots {
	struct us_bpf_root {
		us_gpa at[2]; /* of the lower half and of the upper one */
		uint64_t saves;
		bool seen;
	} vcpu[US_MAX_VCPUS];
	uint32_t same[2]; /* moments, since the last change, at which none was seen */
	bool changes[2];  /* it was seen to change them */
	bool old,
		fresh; /* there are samples of the guest with old ones, with new ones */
};

/* Hot path.  A sample of a vCPU on an arm64 host has come. */
void us_bpf_roots_see(struct us_bpf_roots *r, unsigned vcpu,
		      const struct us_bpf_sample *l);

/* May this half of the addresses be read by a sample with US_BPF_OLD_EL1? */
bool us_bpf_roots_known(const struct us_bpf_roots *r, bool upper);

/* Would samples without anybody waiting for them help? */
bool us_bpf_roots_need_more(const struct us_bpf_roots *r);

/* Hot path.  Take away from what was made of the sample what cannot be trusted. */
void us_bpf_roots_doubt(const struct us_bpf_roots *r, const struct us_bpf_sample *l,
			struct us_regs *regs, struct us_stack_copy *window);

/* Setup path.  Run for a moment on the CPU that the thread runs on, so that it gives it
 * up; this thread may then run where it might before. */
void us_bpf_roots_visit(pid_t pid, pid_t tid);

#endif
