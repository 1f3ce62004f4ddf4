/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wait.h: what a task of a Linux guest that is on no CPU waits in.
 *
 * As the kernel's own wchan does it: the first function of its stack that is not the
 * scheduler's (in_sched_functions() of kernel/sched/core.c: what lies between
 * __sched_text_start and __sched_text_end, and the same of locks).
 */
#ifndef US_LINUX_WAIT_H
#define US_LINUX_WAIT_H

#include "linux/tasks.h"
#include "unwind/unwind.h"

struct us_linux_scheduler {
	us_gva start[2], end[2]; /* both 0: this kernel does not say it */
};

void us_linux_scheduler_find(const struct us_kallsyms *k,
			     struct us_linux_scheduler *ret);

/* How many of the innermost frames are the scheduler's own; 0: all of them would be. */
unsigned us_linux_inside(const struct us_linux_scheduler *s, const us_gva *pc,
			 unsigned n);

/* What a task is at, in one read. */
struct us_linux_task_now {
	uint64_t switches; /* times that it left its CPU; 0: the kernel does not say */
	char state;	   /* as in struct us_linux_task */
	bool on_cpu;
};

/*
 * false: it is not mapped, or another task by now.  One that is on no CPU, and is
 * again after the same number of switches, has not run meanwhile.
 */
bool us_linux_task_look(const struct us_linux_tasks_layout *l, struct us_paging *p,
			const struct us_space *s, const struct us_linux_task *t,
			struct us_linux_task_now *ret);

#endif
