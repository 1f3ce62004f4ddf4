/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/top/rows.h: a profile as rows to scroll through: functions; processes or threads;
 * the callers and callees of a function; a stack.
 */
#ifndef US_CMD_TOP_ROWS_H
#define US_CMD_TOP_ROWS_H

#include "profile/groups.h"
#include "report/report.h"

#include <regex.h>

struct us_top_row {
	const struct us_profile_func *func; /* NULL: a line between others, or: */
	const struct us_profile_group *group;
	const char *text; /* of that line */
	unsigned indent;
	/* Shares of the samples in the profile, 0 to 1; negative: none. */
	double self, total;
	double low, high; /* of the one that it is sorted by; low > high: none */
	uint64_t weight;
};

struct us_top_rows {
	struct us_top_row *v;
	size_t n, cap;
	struct us_profile_groups groups; /* that rows are of */
};

/* All that have samples, in this order; only: names that match, or NULL.  0 or -ENOMEM,
 * as all here. */
US_MUST_CHECK int us_top_functions(const struct us_profile *p, enum us_sort sort,
				   const regex_t *only, struct us_top_rows *ret);
/* The same by process, thread, ...: of a profile with by_vcpu. */
US_MUST_CHECK int us_top_groups(const struct us_profile *p, enum us_profile_by by,
				enum us_sort sort, const regex_t *only,
				struct us_top_rows *ret);
/* The function of this name in the middle, its callers above, what it calls below;
 * nothing if no sample has it. */
US_MUST_CHECK int us_top_around(const struct us_profile *p, const char *name,
				struct us_top_rows *ret);
/* Of a profile of one sample: innermost first. */
US_MUST_CHECK int us_top_stack(const struct us_profile *p, struct us_top_rows *ret);
void us_top_rows_fini(struct us_top_rows *r); /* accepts a zeroed one */

#endif
