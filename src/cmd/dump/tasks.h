/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tasks.h: the tasks of a Linux guest with their stacks, in the kernel and in the
 * program below: what each waits for.
 *
 * They are read while the guest runs.  If a task ran while its stack was unwound, the
 * stack is unwound again.  A task that runs all the time has none.
 */
#ifndef US_CMD_DUMP_TASKS_H
#define US_CMD_DUMP_TASKS_H

#include "cmd/dump/programs.h"
#include "cmd/record/kernel.h"

struct us_dump_tasks {
	const struct us_linux *kernel; /* NULL: not read */
	struct us_linux_tasks list;
	struct us_space space; /* the kernel's address space */
	struct us_dump_programs programs;
	/* By index in list; n 0: no stack, or the task runs. */
	struct us_dump_task_stack {
		us_gva *pc;
		uint8_t *flags;
		uint16_t n;
		uint8_t end;
	} * stack;
};

/*
 * Call it after us_kernel_stop(), before the backend is closed.  stacks: also read
 * stacks, not only the list; u gets the rules of the tasks' programs.  -ENOENT: not a
 * Linux that says where its tasks are, or only a GDB stub reads its memory; e says
 * why.  -ENOMEM.
 */
US_MUST_CHECK int us_dump_tasks_read(struct us_dump_tasks *t, struct us_kernel *k,
				     struct us_unwinder *u, bool stacks,
				     struct us_err *e);
/* Also name the program's part of a vCPU's stack; root: its page tables.  0 or
 * -errno. */
US_MUST_CHECK int us_dump_tasks_add(struct us_dump_tasks *t, us_gpa root,
				    const struct us_stack *s, struct us_err *e);
/* After the last stack, while the backend is open.  0 or -errno. */
US_MUST_CHECK int us_dump_tasks_end(struct us_dump_tasks *t, struct us_err *e);
void us_dump_tasks_fini(struct us_dump_tasks *t); /* accepts a zeroed one */

/* The task that a vCPU with these registers runs, or NULL. */
const struct us_linux_task *us_dump_tasks_of(const struct us_dump_tasks *t,
					     const struct us_regs *regs);

#endif
