/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare_tree.h: the call trees of before and after as one, with what differs in it.
 *
 * As compare.h, by path instead of by function: a path is the names of its functions.
 * What each has with its callees is compared, in the same unit and with the same
 * correction for many comparisons.
 */
#ifndef US_PROFILE_COMPARE_TREE_H
#define US_PROFILE_COMPARE_TREE_H

#include "profile/compare.h"

struct us_compare_node {
	const char *name; /* a profile's; of the root: NULL */
	const struct us_profile_func
		*func;	      /* after, or else before; of the root: NULL */
	uint32_t parent;      /* callers come before their callees */
	double before, after; /* as us_compare_row has them */
	double low, high;
	bool changed;
};

struct us_compare_tree {
	struct us_compare_node *node; /* [0]: the root, of all that is compared */
	size_t n;
};

/* Of what us_compare() has compared; paths that are light on both sides are left out.
 * As that fails. */
US_MUST_CHECK int us_compare_trees(const struct us_compare_side *before,
				   const struct us_compare_side *after,
				   const struct us_compare_opts *o,
				   struct us_compare_tree *ret, struct us_err *e);
void us_compare_tree_fini(struct us_compare_tree *t); /* accepts a zeroed one */

#endif
