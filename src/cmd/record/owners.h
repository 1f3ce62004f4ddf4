/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owners.h: which thread of a Linux guest each sample is of.
 *
 * Where a capture holds the vCPU still, the sampler asks the kernel itself: its CPU's
 * current task, its number, name and start (linux/who.h).  What is found must agree
 * with the vCPU's registers: in the kernel the stack pointer is on that task's stack,
 * in a program the page tables are its own.  While the kernel goes from one task to
 * another it may be on the stack of the other one, whose the sample is then.  Who is
 * new is read whole, once, and told to the writer's thread through a queue without a
 * lock; if it is full the thread stays unknown for now, and is told at its next sample.
 *
 * Where a capture does not hold the guest (bpf), it brings a copy of what the CPU's
 * current task says of itself, as of the sample (guest/pointed.h), and that has to
 * agree in the same way.  Before it is known where that lies, a sample in the kernel
 * has the stack that it was on, and the list of tasks (processes.h) says whose that is.
 */
#ifndef US_CMD_OWNERS_H
#define US_CMD_OWNERS_H

#include "linux/linux.h"
#include "record/record.h"

#include <stdatomic.h>

#define US_OWNERS_KNOWN 1024 /* a power of two */
#define US_OWNERS_QUEUE 512  /* a power of two */

struct us_owners {
	/* The sampler's. */
	const struct us_linux *of; /* what is known is of this kernel */
	struct us_owner_known {
		us_gva at;
		uint64_t id;
		us_gva stack;
		us_gpa root;
	} known[US_OWNERS_KNOWN];
	uint16_t by_stack[US_OWNERS_KNOWN]; /* one of these, + 1, by its stack */
	struct us_owner_cpu {
		uint8_t cpu; /* the guest's number of this vCPU, + 1; 0: not known */
		uint8_t doubts, tries;
		bool sure; /* a copy has agreed */
	} cpu[US_MAX_VCPUS];
	struct us_pointed_plan plan; /* of what is copied */

	/* Who is new: from the sampler to the writer's thread. */
	struct us_linux_who queue[US_OWNERS_QUEUE];
	_Atomic uint32_t put, taken;
};

/* In the sampler, while the capture is held: what US_PC_TASK holds, or 0.  l: the
 * kernel that runs now; NULL: not known. */
uint64_t us_owners_of(struct us_owners *o, const struct us_linux *l,
		      const struct us_live_sample *s);

/* In the writer's thread: the next one that is new; NULL: none.  Then pop it. */
const struct us_linux_who *us_owners_peek(struct us_owners *o);
void us_owners_pop(struct us_owners *o);

#endif
