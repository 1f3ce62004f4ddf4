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
	const struct us_profile_func *func; /* NULL: a separating line, or a group: */
	const struct us_profile_group *group;
	const char *text; /* of that line */
	unsigned indent;
	/* Shares of the profile's samples, 0 to 1; negative: none. */
	double self, total;
	/* Interval of the share that rows are sorted by; low > high: none. */
	double low, high;
	uint64_t weight;
};

struct us_top_rows {
	struct us_top_row *v;
	size_t n, cap;
	struct us_profile_groups groups; /* the groups that rows refer to */
};

/* All functions with samples, sorted; only: names that match, or NULL.  0 or -ENOMEM,
 * as for all functions here. */
US_MUST_CHECK int us_top_functions(const struct us_profile *p, enum us_sort sort,
				   const regex_t *only, struct us_top_rows *ret);
/* The same by process, thread, ...; p must be read with by_vcpu. */
US_MUST_CHECK int us_top_groups(const struct us_profile *p, enum us_profile_by by,
				enum us_sort sort, const regex_t *only,
				struct us_top_rows *ret);
/* The function of this name in the middle, its callers above, its callees below; no
 * rows if no sample has it. */
US_MUST_CHECK int us_top_around(const struct us_profile *p, const char *name,
				struct us_top_rows *ret);
/* The stack of a profile with one sample: innermost first. */
US_MUST_CHECK int us_top_stack(const struct us_profile *p, struct us_top_rows *ret);
void us_top_rows_fini(struct us_top_rows *r); /* accepts a zeroed one */

#endif
