/* SPDX-License-Identifier: GPL-2.0-or-later */
/* count_list.h: the functions to count, if only calls are counted. */
#ifndef US_CMD_COUNT_LIST_H
#define US_CMD_COUNT_LIST_H

#include "base/err.h"
#include "base/nearest.h"
#include "cmd/trace/name_pattern.h"
#include "cmd/trace/other_names.h"
#include "trace/functions_write.h"

#define US_COUNT_LIST_MAX 64

/* An item between commas: a name, or an extended regular expression that must match a
 * whole name.  Any name of a function's address will do. */
struct us_count_list {
	struct us_count_pattern {
		struct us_name_pattern name;
		unsigned n;		/* number of functions that it matched */
		struct us_nearest near; /* of the functions, while it matched none */
		char best[128];
	} v[US_COUNT_LIST_MAX];
	unsigned n; /* 0: all functions */
	struct us_function_chooser chooser;
	struct us_other_names others; /* matched, but not by the names that are shown */
};

/* "work,tcp_.*,f(int, long)": commas in parentheses and other brackets do not separate
 * items.  NULL: all functions. */
US_MUST_CHECK int us_count_list_init(struct us_count_list *l, const char *text,
				     struct us_err *e);
void us_count_list_fini(struct us_count_list *l); /* accepts a zeroed one */
/* After all functions were passed: did each item match one?  -EINVAL: no. */
US_MUST_CHECK int us_count_list_check(const struct us_count_list *l, struct us_err *e);

#endif
