/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/trace/syscalls.h: which system calls a trace is of, as options say it. */
#ifndef US_CMD_TRACE_SYSCALLS_H
#define US_CMD_TRACE_SYSCALLS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct us_trace_syscalls {
	bool on;
	bool alone;	/* no functions */
	char list[512]; /* "read+write", "": all */
	int text; /* bytes of what is read and written; -1: as the plugin has it */
};

/* --syscalls[=LIST], -s N; false: the user was told what is wrong. */
bool us_trace_syscalls_set(struct us_trace_syscalls *s, const char *list);
bool us_trace_syscalls_set_text(struct us_trace_syscalls *s, const char *value);
/* What the plugin is told, from the first comma on. */
void us_trace_syscalls_options(const struct us_trace_syscalls *s, char *ret,
			       size_t size);

#endif
