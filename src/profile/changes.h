/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * changes.h: how often a vCPU's samples that follow each other differ, for each
 * function and each node of the call tree at once.
 *
 * From the stretches of the profile (stretches.h), samples of one vCPU 1 to US_LAGS
 * apart; of bpf's, which do not count the same, each pair as much as the product of
 * both weights.  Samples that do not count (idle ones, those outside a focus) make the
 * number of those that do a chance, too: a share is a ratio.
 */
#ifndef US_PROFILE_CHANGES_H
#define US_PROFILE_CHANGES_H

#include "profile/interval.h"
#include "profile/profile_priv.h"

#include <stdbool.h>

/* Weighted sums of pairs of samples that differ. */
struct us_change {
	double within[US_N_LAG_SUM];  /* both count, one of them is in it */
	double outside[US_N_LAG_SUM]; /* one counts and is in it, the other does not
					 count */
};

struct us_changes {
	struct us_change *node, *self, *total; /* by node; by function */
	double outside[US_N_LAG_SUM];	       /* all pairs of which one counts */
	/* Pairs of which one is idle; for each sample, not counted one. */
	double idle[US_N_LAG_SUM];
	unsigned block; /* this and what follows: see interval.h */
	double periods;
	enum us_lag_fit fit;
	double spread;		 /* of the distances between samples: see interval.h */
	double samples, counted; /* that were compared */
};

/* 0 or -ENOMEM. */
US_MUST_CHECK int us_changes_count(const struct us_profile *p, struct us_changes *ret);
void us_changes_fini(struct us_changes *c);

/* What us_span_error has of them, for ret->share of the samples that count. */
void us_changes_of(const struct us_changes *c, const struct us_change *x,
		   struct us_span_error *ret);

#endif
