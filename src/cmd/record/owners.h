/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owners.h: which thread of a Linux guest each sample belongs to.
 *
 * If a capture holds the vCPU still, the sampler reads this from the kernel itself: the
 * CPU's current task, its number, name and start time (linux/who.h).  The result must
 * agree with the vCPU's registers: in the kernel, the stack pointer is on that task's
 * stack; in a program, the page tables are the task's.  While the kernel switches from
 * one task to another it may be on the other task's stack, and the sample then belongs
 * to that task.  A new task is read in full once, and passed to the writer's thread
 * through a lock-free queue.  If the queue is full, the thread stays unknown until its
 * next sample.
 *
 * If a capture does not hold the guest (bpf), it brings a copy of what the CPU's
 * current task says about itself, at the time of the sample (guest/pointed.h).  This
 * has to agree in the same way.  Before the address to copy from is known, a sample in
 * the kernel has its stack, and the list of tasks (processes.h) gives the stack's
 * owner.
 */
#ifndef US_CMD_OWNERS_H
#define US_CMD_OWNERS_H

#include "linux/linux.h"
#include "record/record.h"

#include <stdatomic.h>

#define US_OWNERS_KNOWN 1024 /* a power of two */
#define US_OWNERS_QUEUE 512  /* a power of two */

struct us_owners {
	/* For the sampler. */
	const struct us_linux *of; /* the kernel that this data belongs to */
	struct us_owner_known {
		us_gva at;
		uint64_t id;
		us_gva stack;
		us_gpa root;
	} known[US_OWNERS_KNOWN];
	uint16_t by_stack[US_OWNERS_KNOWN]; /* index in known + 1, by stack */
	struct us_owner_cpu {
		uint8_t cpu; /* the guest's number of this vCPU + 1; 0: not known */
		uint8_t doubts, tries;
		uint32_t in_programs; /* samples before it was known */
		bool sure;	      /* a copy has agreed with the registers */
	} cpu[US_MAX_VCPUS];
	struct us_pointed_plan plan; /* what is copied */

	/* New threads, from the sampler to the writer's thread. */
	struct us_linux_who queue[US_OWNERS_QUEUE];
	_Atomic uint32_t put, taken;
};

/* In the sampler, while the capture is held: the value of US_PC_TASK, or 0.  l: the
 * kernel that runs now; NULL: not known. */
uint64_t us_owners_of(struct us_owners *o, const struct us_linux *l,
		      const struct us_live_sample *s);

/* In the writer's thread: the next new thread; NULL: none.  Then pop it. */
const struct us_linux_who *us_owners_peek(struct us_owners *o);
void us_owners_pop(struct us_owners *o);

#endif
