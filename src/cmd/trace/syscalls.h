/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/trace/syscalls.h: the options that select system calls for a trace. */
#ifndef US_CMD_TRACE_SYSCALLS_H
#define US_CMD_TRACE_SYSCALLS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct us_trace_syscalls {
	bool on;
	bool alone;	/* no functions */
	char list[512]; /* "read+write", "": all */
	int text; /* bytes kept of read and written data; -1: the plugin's default */
};

/* --syscalls[=LIST], -s N; false: the user was told what is wrong. */
bool us_trace_syscalls_set(struct us_trace_syscalls *s, const char *list);
bool us_trace_syscalls_set_text(struct us_trace_syscalls *s, const char *value);
/* The plugin's options, with a comma before the first. */
void us_trace_syscalls_options(const struct us_trace_syscalls *s, char *ret,
			       size_t size);

#endif
