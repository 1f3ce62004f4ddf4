/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare_tree.h: the call trees of before and after merged into one, with what
 * differs.
 *
 * This is compare.h by path instead of by function.  A path is the names of its
 * functions.  It compares the totals of paths (callees included), in the same unit and
 * with the same correction for many comparisons.
 */
#ifndef US_PROFILE_COMPARE_TREE_H
#define US_PROFILE_COMPARE_TREE_H

#include "profile/compare.h"

struct us_compare_node {
	const char *name; /* as in us_compare_row; NULL: the root */
	const struct us_profile_func
		*func;	      /* from after, else from before; NULL: the root */
	uint32_t parent;      /* callers come before their callees */
	double before, after; /* as in us_compare_row */
	double low, high;
	bool changed;
};

struct us_compare_tree {
	/* [0]: the root, for everything that is compared. */
	struct us_compare_node *node;
	size_t n;
	struct us_compare_names names;
};

/* Compare the call trees of what us_compare() compares; paths that are light on both
 * sides are left out.  Errors as there. */
US_MUST_CHECK int us_compare_trees(const struct us_compare_side *before,
				   const struct us_compare_side *after,
				   const struct us_compare_opts *o,
				   struct us_compare_tree *ret, struct us_err *e);
void us_compare_tree_fini(struct us_compare_tree *t); /* accepts a zeroed one */

#endif
