/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/trace/choice.h: which functions to trace, and between which functions tracing is
 * on. */
#ifndef US_CMD_TRACE_CHOICE_H
#define US_CMD_TRACE_CHOICE_H

#include "base/err.h"
#include "base/nearest.h"
#include "cmd/trace/name_pattern.h"
#include "cmd/trace/other_names.h"
#include "cmd/trace/plugin_run.h"
#include "trace/functions_write.h"

#include <stdbool.h>

/* A function is chosen by any of the names of its address. */
struct us_trace_choice {
	const char *filter, *hide; /* names or extended regexes; NULL: all, none */
	const char *from, *until;  /* functions; NULL: the start, the end */
	struct us_name_pattern filter_re, hide_re;
	/* Numbers of such functions found. */
	unsigned n_traced, n_filter, n_hide, n_from, n_until;
	/* Of all functions, to the one that was not found. */
	struct us_nearest near_from, near_until;
	char best_from[128], best_until[128];
	struct us_function_chooser chooser;
	struct us_other_names others; /* chosen, but not by the names that are shown */
};

/* filter, hide, from and until must be set.  -ENOMEM. */
US_MUST_CHECK int us_trace_choice_init(struct us_trace_choice *c, struct us_err *e);
void us_trace_choice_fini(struct us_trace_choice *c);
/* After all functions of this run were passed: was each named one found?  -EINVAL: no,
 * or there are no functions to choose from. */
US_MUST_CHECK int us_trace_choice_check(const struct us_trace_choice *c,
					const struct us_plugin_run *r,
					struct us_err *e);

#endif
