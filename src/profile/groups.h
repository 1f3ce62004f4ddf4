/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * groups.h: a profile's functions grouped by guest, recording, vCPU, state, owner,
 * image or source file, with the sum of each group.
 *
 * By image and by file, a group has the functions that are in it: self adds up to the
 * group's sum, and total is as without groups.  Otherwise a group has its own samples,
 * and its functions' self and total count only these.
 */
#ifndef US_PROFILE_GROUPS_H
#define US_PROFILE_GROUPS_H

#include "profile/profile.h"

struct us_profile_group_row {
	uint32_t func; /* of us_profile_funcs() */
	uint64_t self, total;
};

struct us_profile_group {
	char *name;
	uint64_t weight; /* of its samples, out of us_profile_summary.running */
	/* 95 % interval of weight's share, as if samples were independent. */
	double low, high;
	double repeats; /* as us_interval_independent() */
	uint64_t idle;	/* by guest, recording and vCPU; else 0 */
	bool has_idle;
	/* By process and thread, if known: the owner of its first stack.  The profile
	 * owns the strings. */
	bool has_owner;
	struct us_profile_owner owner;
	struct us_profile_group_row *row; /* most self first */
	size_t n;
};

struct us_profile_groups {
	struct us_profile_group *v; /* most weight first */
	size_t n;
};

/* p must have been read with opts.by_vcpu.  0, or -ENOMEM and *ret is empty. */
US_MUST_CHECK int us_profile_groups(const struct us_profile *p, enum us_profile_by by,
				    struct us_profile_groups *ret);
void us_profile_groups_fini(struct us_profile_groups *g); /* accepts a zeroed one */

#endif
