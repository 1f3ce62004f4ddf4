/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wait.h: the function in which a task waits that is not on a CPU.
 *
 * As with the kernel's own wchan, it is the innermost function on the stack that is not
 * the scheduler's (in_sched_functions() of kernel/sched/core.c: code between
 * __sched_text_start and __sched_text_end, and the same for locks).
 */
#ifndef US_LINUX_WAIT_H
#define US_LINUX_WAIT_H

#include "linux/tasks.h"
#include "unwind/unwind.h"

struct us_linux_scheduler {
	us_gva start[2], end[2]; /* both 0: not known for this kernel */
};

void us_linux_scheduler_find(const struct us_kallsyms *k,
			     struct us_linux_scheduler *ret);

/* The number of innermost frames that are the scheduler's; 0 also if all n are. */
unsigned us_linux_inside(const struct us_linux_scheduler *s, const us_gva *pc,
			 unsigned n);

/* What a task does now, in one read. */
struct us_linux_task_now {
	uint64_t switches; /* how often it left its CPU; 0: not known */
	char state;	   /* as in struct us_linux_task */
	bool on_cpu;
};

/*
 * false: it is not mapped, or it is another task now.  A task that is off its CPU in
 * two calls, with the same number of switches, has not run between them.
 */
bool us_linux_task_look(const struct us_linux_tasks_layout *l, struct us_paging *p,
			const struct us_space *s, const struct us_linux_task *t,
			struct us_linux_task_now *ret);

#endif
