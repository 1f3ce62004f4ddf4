/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare.h: what differs between profiles from before and after a change, and whether
 * the difference is more than chance.
 *
 * With one recording on a side, errors come from its long-run intervals.  With several,
 * the spread between recordings counts too, if it is larger, since no two runs are
 * quite alike (Student's t for two sets).  The interval of a difference is made from
 * the intervals of both sides, which may be asymmetric (G. Zou and A. Donner 2008).
 *
 * When many functions are compared, some differ by chance.  The functions that are
 * called changed are chosen so that on average one in twenty of them is wrong.  If
 * nothing has changed, one comparison in twenty names any function (Y. Benjamini and Y.
 * Hochberg 1995).
 *
 * Functions are matched by name, image and source file, whatever their address, and
 * whichever namesakes a recording happens to have.  If an image or a file has another
 * name on the other side, or is not known, it is not part of the match.  Counted
 * profiles are compared exactly: every difference is a change.
 */
#ifndef US_PROFILE_COMPARE_H
#define US_PROFILE_COMPARE_H

#include "profile/profile.h"

#define US_COMPARE_MAX 64 /* recordings on each side */

enum us_compare_by {
	/* Share of what ran, without waiting for a host CPU: 0 to 1. */
	US_COMPARE_SHARE,
	US_COMPARE_TIME, /* share of all the time, idle included: 0 to 1 */
	US_COMPARE_PER,	 /* relative to a function that did the same work */
};

struct us_compare_opts {
	enum us_compare_by by;
	/* Name of that function, whose total is used: as the comparison shows it, or as
	 * a recording or an image has it. */
	const char *per;
	bool total; /* include callees; else self */
};

struct us_compare_side {
	const struct us_profile *v[US_COMPARE_MAX];
	size_t n; /* at least 1 */
};

struct us_compare_row {
	const char *name;		    /* unique if possible: "init (a.c)" */
	const struct us_profile_func *func; /* from after, else from before */
	bool was, is;			    /* seen before, after */
	double before, after;	/* in the unit of `by`; counted profiles: weights */
	double diff, low, high; /* after - before, and its 95 % interval */
	double chance;		/* probability of a difference this large by chance */
	bool changed;
	uint32_t index; /* for the caller's use */
};

/* Owned by the result of a comparison. */
struct us_compare_names {
	char **v;
	size_t n;
};
void us_compare_names_fini(struct us_compare_names *names);

struct us_comparison {
	struct us_compare_row *row; /* changed ones first, then larger differences */
	size_t n, n_changed;
	struct us_compare_names names;
	bool exact; /* the profiles were counted */
};

/*
 * -EINVAL: some profiles are counted and some sampled, or no function or several have
 * the name `per` (the message has the nearest name, or the hint theirs); -ENODATA: a
 * side has no samples; -ENOMEM.
 */
US_MUST_CHECK int us_compare(const struct us_compare_side *before,
			     const struct us_compare_side *after,
			     const struct us_compare_opts *o, struct us_comparison *ret,
			     struct us_err *e);
void us_comparison_fini(struct us_comparison *c); /* accepts a zeroed one */

#endif
