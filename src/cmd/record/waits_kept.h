/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waits_kept.h: stacks of waiting tasks, kept from one look to the next: a task that
 * has not run since has the same one. */
#ifndef US_CMD_WAITS_KEPT_H
#define US_CMD_WAITS_KEPT_H

#include "cmd/record/waits.h"

/* Free the stack; the entry is unused then. */
void us_waits_drop(struct us_waits_kept *k);

/* Keep the stack in w->code->stack.  switches: how often the task has left its CPU. Out
 * of memory: it is read again in the next look. */
void us_waits_keep(struct us_waits *w, const struct us_linux_task *t,
		   uint64_t switches);

/* Set w->code->stack to the task's kept stack.  false: there is none, the task has run
 * since, or unwinding now may give a longer one. */
bool us_waits_recall(struct us_waits *w, const struct us_linux_task *t,
		     uint64_t switches);

#endif
