/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff.h: what differs between profiles, as a table, JSON or a page. */
#ifndef US_REPORT_DIFF_H
#define US_REPORT_DIFF_H

#include "profile/compare.h"
#include "report/report.h"

struct us_diff {
	const struct us_compare_side *side[2]; /* before, after */
	const struct us_compare_opts *opts;
	const struct us_comparison *result;
	/* The same with opts->total; NULL or empty: not wanted, or `result` has it. */
	const struct us_comparison *totals;
};

/*
 * What changed with its callees by more than any function changed by itself, or NULL.
 * It is how a change shows that is spread over many functions, or that a function has
 * which is inlined in several: where one grows and another shrinks by it, the inlined
 * function itself is the same.
 */
const struct us_compare_row *us_diff_hidden(const struct us_diff *d);

/* One sentence: whether anything changed, and what changed most.  Returns dst. */
char *us_diff_sentence(const struct us_diff *d, char *dst, size_t size);

/* The unit of the figures, in words. */
const char *us_diff_unit(const struct us_diff *d);

/* What the figures refer to, in words. */
const char *us_diff_of(const struct us_diff *d);

/* Uses o's width, colour, limit and full_paths. */
US_MUST_CHECK int us_diff_text(const struct us_diff *d, const struct us_report_opts *o,
			       FILE *out, struct us_err *e);
US_MUST_CHECK int us_diff_json(const struct us_diff *d, FILE *out, struct us_err *e);

/* Uses only o->full_paths.  Compares the call trees as well. */
US_MUST_CHECK int us_diff_html(const struct us_diff *d, const struct us_report_opts *o,
			       FILE *out, struct us_err *e);

#endif
