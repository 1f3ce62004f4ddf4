/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare.h: what differs between profiles from before and after a change, and whether
 * it is more than chance.
 *
 * Of one recording a side, errors are those of its intervals for the long run; of
 * several, the spread between them counts too, if it is larger: no run is quite like
 * another (Student's t for two sets).  The interval of a difference is made of those of
 * its two sides, each of which may be uneven (G. Zou and A. Donner 2008).
 *
 * Who compares many functions finds some that differ by chance.  Those that are called
 * changed are chosen so that one of twenty is wrong, on average, and that if nothing
 * has changed, any is named in one of twenty comparisons (Y. Benjamini and Y. Hochberg
 * 1995).
 *
 * Functions are matched by name, wherever they lie.  Profiles that were counted are
 * compared exactly: each difference is one.
 */
#ifndef US_PROFILE_COMPARE_H
#define US_PROFILE_COMPARE_H

#include "profile/profile.h"

#define US_COMPARE_MAX 64 /* recordings a side */

enum us_compare_by {
	US_COMPARE_SHARE, /* of what ran, without waiting for a host CPU: 0 to 1 */
	US_COMPARE_TIME,  /* of all the time, idle too: 0 to 1 */
	US_COMPARE_PER,	  /* of what a function has that did the same work */
};

struct us_compare_opts {
	enum us_compare_by by;
	const char *per; /* its name; its total counts */
	bool total;	 /* callees counted in; else self */
};

struct us_compare_side {
	const struct us_profile *v[US_COMPARE_MAX];
	size_t n; /* 1 at least */
};

struct us_compare_row {
	const char *name;		    /* a profile's */
	const struct us_profile_func *func; /* after, or else before */
	bool was, is;			    /* seen before, after */
	double before, after;		    /* in the unit of by; counted: weights */
	double diff, low, high;		    /* after - before, and 95 % */
	double chance;			    /* that it is as large by chance */
	bool changed;
	uint32_t index; /* of who has it compared */
};

struct us_comparison {
	struct us_compare_row *row; /* changed ones first; larger differences first */
	size_t n, n_changed;
	bool exact; /* counted */
};

/*
 * -EINVAL: some were counted and some sampled, or no function is called per, with the
 * nearest name; -ENODATA: a side has no samples; -ENOMEM.
 */
US_MUST_CHECK int us_compare(const struct us_compare_side *before,
			     const struct us_compare_side *after,
			     const struct us_compare_opts *o, struct us_comparison *ret,
			     struct us_err *e);
void us_comparison_fini(struct us_comparison *c); /* accepts a zeroed one */

#endif
