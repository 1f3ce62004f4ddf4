/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compare_priv.h: shared by the comparisons of functions and of call trees. */
#ifndef US_PROFILE_COMPARE_PRIV_H
#define US_PROFILE_COMPARE_PRIV_H

#include "profile/compare.h"

/* A value, and how far the true value may be below and above it: standard errors. */
struct us_value {
	double v, down, up;
};

/* A function of one recording. */
struct us_compare_item {
	uint32_t number; /* see us_comparer */
	const struct us_profile_func *func;
	unsigned side, run;
	struct us_value x;
};

struct us_comparer {
	const struct us_compare_opts *o;
	const struct us_compare_side *side[2];
	bool exact, same_build;
	/* By side, recording and function; the same function of several recordings has
	 * the same number. */
	uint32_t *number[2][US_COMPARE_MAX];
	struct us_compare_names names; /* by number */
	struct {
		struct us_compare_item *v;
		size_t n, cap;
	} items;
	struct us_value per[2][US_COMPARE_MAX];
};

/* Prepare c for all functions below.  c->names is for the result to own.  -errno with
 * *e filled: there is nothing to release. */
US_MUST_CHECK int us_compare_begin(struct us_comparer *c, struct us_err *e);

/* Fill in number and names.  0 or -ENOMEM.  us_compare_number_fini() leaves names. */
US_MUST_CHECK int us_compare_number(struct us_comparer *c);
void us_compare_number_fini(struct us_comparer *c);
/* After us_compare_number(): the number of the function that a user calls so, as the
 * comparison shows it, or as a recording or an image has it.  -EINVAL with *e filled:
 * there is none, or there are several. */
US_MUST_CHECK int us_compare_named(const struct us_comparer *c, const char *word,
				   uint32_t *ret, struct us_err *e);

/* Make a value of an estimate and its interval. */
struct us_value us_value_of(double v, double low, double high);
/* Convert a share of what ran in a recording to the unit that is asked for. */
struct us_value us_compare_in_unit(const struct us_comparer *c,
				   const struct us_profile *p, unsigned side,
				   unsigned run, struct us_value share);
/* v: by side and recording; zeroed where the function was not seen.  Fills in before,
 * after, diff, low, high and chance. */
void us_compare_conclude(const struct us_comparer *c,
			 struct us_value v[2][US_COMPARE_MAX],
			 struct us_compare_row *ret);
/* Set `changed` in the rows that differ; *ret: how many.  Reorders the rows. */
void us_compare_choose(struct us_compare_row *row, size_t n, size_t *ret);

#endif
