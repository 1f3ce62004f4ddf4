/* SPDX-License-Identifier: GPL-2.0-or-later */
/* count_list.h: the functions whose calls alone are counted. */
#ifndef US_CMD_COUNT_LIST_H
#define US_CMD_COUNT_LIST_H

#include "base/err.h"
#include "trace/functions_write.h"

#include <regex.h>

#define US_COUNT_LIST_MAX 64

/* What stands between commas: a name, or an extended regular expression that has to
 * match all of one. */
struct us_count_list {
	struct us_count_pattern {
		char *text; /* owned */
		regex_t re;
		unsigned n; /* functions that it matched */
	} v[US_COUNT_LIST_MAX];
	unsigned n; /* 0: all functions */
	struct us_function_chooser chooser;
};

/* "work,tcp_.*,f(int, long)": commas in parentheses and the like part nothing.  NULL:
 * all.  -EINVAL: no regular expression. */
US_MUST_CHECK int us_count_list_init(struct us_count_list *l, const char *text,
				     struct us_err *e);
void us_count_list_fini(struct us_count_list *l); /* accepts a zeroed one */
/* After all functions were met: did each match?  -ENOENT: not so. */
US_MUST_CHECK int us_count_list_check(const struct us_count_list *l, struct us_err *e);

#endif
