/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scheduler.h: cooperative threads of one vCPU, each on a stack of its own; they run in
 * turn, in the order in which they were started.
 */
#ifndef GUEST_SCHEDULER_H
#define GUEST_SCHEDULER_H

#include "cpu.h"

struct thread {
	u64 rsp; /* where it goes on, while it does not run */
	struct thread *next;
};

struct scheduler {
	u32 vcpu;
	u32 n_threads;
	struct thread *current;
	struct thread thread[STACK_SLOTS - 1]; /* slot 0 is the boot stack */
};

void scheduler_init(struct scheduler *s, u32 vcpu);
void thread_start(struct scheduler *s, void (*function)(void *), void *arg);
NORETURN void scheduler_run(struct scheduler *s); /* leaves the boot stack for good */
VISIBLE void yield(struct scheduler *s);	  /* let the others run */

#endif
