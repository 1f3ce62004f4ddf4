/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * branches.h: the call tree seen from a function: who calls it, and what it calls.
 */
#ifndef US_PROFILE_BRANCHES_H
#define US_PROFILE_BRANCHES_H

#include "profile/profile.h"

#define US_EACH_FUNCTION UINT32_MAX

/* [0] is the root, with the sum.  Parents come before their children. */
struct us_branch {
	uint32_t func; /* index in us_profile_funcs(); not valid for the root */
	uint32_t parent, child, next; /* indices, heavier branches first; 0: none */
	uint64_t self, total;
};

struct us_branches {
	struct us_branch *v;
	size_t n;
};

/*
 * The callers of a function below it, then their callers, and so on.  Each has the
 * weight that came through it.  For a recursive function the outermost call counts.
 * US_EACH_FUNCTION: a branch for each function, by its self.  0 or -ENOMEM.
 */
US_MUST_CHECK int us_profile_callers(const struct us_profile *p, uint32_t func,
				     struct us_branches *ret);
/* What a function calls, wherever it is called from: the tree below it. */
US_MUST_CHECK int us_profile_callees(const struct us_profile *p, uint32_t func,
				     struct us_branches *ret);
/* The whole tree. */
US_MUST_CHECK int us_profile_call_tree(const struct us_profile *p,
				       struct us_branches *ret);
void us_branches_fini(struct us_branches *b); /* accepts a zeroed one */

#endif
