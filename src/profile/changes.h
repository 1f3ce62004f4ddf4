/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * changes.h: how often successive samples of a vCPU differ, for each function and each
 * node of the call tree in one pass.
 *
 * The pairs come from the stretches of the profile (stretches.h): samples of one vCPU
 * that are 1 to US_LAGS apart.  Samples of the bpf backend have different weights, so
 * each pair counts as much as the product of both.  Samples that do not count (idle
 * ones, those outside a focus) also make the number of the others random, because a
 * share is a ratio.
 */
#ifndef US_PROFILE_CHANGES_H
#define US_PROFILE_CHANGES_H

#include "profile/interval.h"
#include "profile/profile_priv.h"

#include <stdbool.h>

/* bpf's timer keeps one period for at least this many ticks. */
#define US_OLD_TICKS 16

/* Weighted sums of pairs of samples that differ. */
struct us_change {
	double within[US_N_LAG_SUM]; /* both samples count, one of them is in it */
	/* One counts and is in it, the other does not count. */
	double outside[US_N_LAG_SUM];
	double hits; /* weight of the samples that are in it */
};

struct us_changes {
	struct us_change *node, *self, *total; /* by node; by function */
	double outside[US_N_LAG_SUM]; /* all pairs of which one sample counts */
	/* Pairs of which one sample is idle; per sample, not per counted sample. */
	double idle[US_N_LAG_SUM];
	unsigned block; /* for this and the next three members see interval.h */
	double periods;
	enum us_lag_fit fit;
	double spread; /* of the distances between samples */
	/* Of the samples that were compared: their number, and that of those that
	 * count; what these count as in comparisons, and in the profile; the share of
	 * idle of all. */
	double samples, counted, counted_weight, profile_weight, idle_share;
};

/* 0 or -ENOMEM. */
US_MUST_CHECK int us_changes_count(const struct us_profile *p, struct us_changes *ret);
void us_changes_fini(struct us_changes *c);

/* Fill in what us_span_error has of the compared samples that count.  scale: the number
 * of samples that are as precise as one of weight 1. */
void us_changes_of(const struct us_changes *c, const struct us_change *x, double scale,
		   struct us_span_error *ret);

#endif
