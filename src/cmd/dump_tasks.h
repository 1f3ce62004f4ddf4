/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dump_tasks.h: the tasks of a Linux guest with their stacks in the kernel and the
 * program below: what each waits for.
 *
 * They are read while the guest runs.  A task that ran while its stack was unwound is
 * unwound again; one that runs all the time has none.
 */
#ifndef US_CMD_DUMP_TASKS_H
#define US_CMD_DUMP_TASKS_H

#include "cmd/dump_programs.h"
#include "cmd/record/kernel.h"

struct us_dump_tasks {
	const struct us_linux *kernel; /* NULL: not read */
	struct us_linux_tasks list;
	struct us_space space; /* of the kernel */
	struct us_dump_programs programs;
	/* By number in list; n 0: it has none, or runs. */
	struct us_dump_task_stack {
		us_gva *pc;
		uint8_t *flags;
		uint16_t n;
		uint8_t end;
	} * stack;
};

/*
 * After us_kernel_stop(), before the backend is closed; u is given the rules of the
 * tasks' programs.  stacks: those, too; else the list alone.  -ENOENT: no Linux that
 * says where its tasks are, or one whose memory only a GDB stub reads; e says why.
 * -ENOMEM.
 */
US_MUST_CHECK int us_dump_tasks_read(struct us_dump_tasks *t, struct us_kernel *k,
				     struct us_unwinder *u, bool stacks,
				     struct us_err *e);
void us_dump_tasks_fini(struct us_dump_tasks *t); /* accepts a zeroed one */

/* The task that a vCPU with these registers runs, or NULL. */
const struct us_linux_task *us_dump_tasks_of(const struct us_dump_tasks *t,
					     const struct us_regs *regs);

#endif
