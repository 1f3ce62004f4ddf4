/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compare_priv.h: what comparing functions and comparing call trees share. */
#ifndef US_PROFILE_COMPARE_PRIV_H
#define US_PROFILE_COMPARE_PRIV_H

#include "profile/compare.h"

/* A value and how far the truth may be below and above it: standard errors. */
struct us_value {
	double v, down, up;
};

/* A function of one recording. */
struct us_compare_item {
	const char *name;
	const struct us_profile_func *func;
	unsigned side, run;
	struct us_value x;
};

struct us_comparer {
	const struct us_compare_opts *o;
	const struct us_compare_side *side[2];
	bool exact, same_build;
	struct {
		struct us_compare_item *v;
		size_t n, cap;
	} items;
	struct us_value per[2][US_COMPARE_MAX];
};

/* -errno with *e filled, or c has what is needed for all that follows. */
US_MUST_CHECK int us_compare_begin(struct us_comparer *c, struct us_err *e);

/* An estimate with its interval as a value. */
struct us_value us_value_of(double v, double low, double high);
/* A share of what ran in a recording in the unit that is asked for. */
struct us_value us_compare_in_unit(const struct us_comparer *c,
				   const struct us_profile *p, unsigned side,
				   unsigned run, struct us_value share);
/* The name by which a function is matched. */
const char *us_compare_name(const struct us_comparer *c,
			    const struct us_profile_func *f);
/* v: by side and recording; zeroed where it was not seen.  Fills before, after, diff,
 * low, high and chance. */
void us_compare_conclude(const struct us_comparer *c,
			 struct us_value v[2][US_COMPARE_MAX],
			 struct us_compare_row *ret);
/* Which differ: *ret says how many, and sets changed.  The rows are put in another
 * order. */
void us_compare_choose(struct us_compare_row *row, size_t n, size_t *ret);

#endif
