/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interval.h: how far a share may be from the truth.
 *
 * A share of samples has two errors.  That of counting (Wilson's interval, E. B.
 * Wilson 1927) is all there is if samples are independent.  They are not: a guest has
 * phases, and neighbours in time resemble each other.  So whole slices of time are
 * drawn again, with replacement (block bootstrap, B. Efron 1979, H. Kuensch 1989): how
 * much the share moves then is the second error.  A report gives the wider of both.
 *
 * Pure functions; shares are 0 to 1, intervals are of 95 %.
 */
#ifndef US_PROFILE_INTERVAL_H
#define US_PROFILE_INTERVAL_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct us_interval {
	double low, high;
};

/* n: number of independent samples behind the share; 0 gives [0, 1]. */
struct us_interval us_interval_wilson(double share, double n);

/* From the lower of both lows to the higher of both highs. */
struct us_interval us_interval_wider(struct us_interval a, struct us_interval b);

/* What the spread of a share over n slices needs: x is the weight of what is counted
 * in a slice, n the weight of all samples in it. */
struct us_slice_moments {
	double sum_xx, sum_xn, sum_nn, sum_n;
	unsigned n_slice;
};

/*
 * The bootstrap's answer for many slices without drawing: the linearised variance of
 * a ratio (W. Cochran, Sampling Techniques, 6.3) with Student's t.  Cheap enough for
 * every node of a tree.  Fewer than 2 slices: [share, share].
 */
struct us_interval us_interval_slices(double share, const struct us_slice_moments *m);

/* A set of draws of slices, shared by all shares of one profile. */
struct us_bootstrap;

/* weight[n_slice]: of all samples in each slice. The same seed gives the same draws. */
US_MUST_CHECK int us_bootstrap_new(const double *weight, unsigned n_slice,
				   unsigned n_draw, uint64_t seed,
				   struct us_bootstrap **ret);
void us_bootstrap_free(struct us_bootstrap *b); /* accepts NULL */

/* The part of a slice's weight that is counted. */
struct us_slice_part {
	unsigned slice; /* < n_slice */
	double weight;
};

/* Percentile interval of the share of v[n] (slices not named have none), its
 * percentiles widened for the number of slices (T. Hesterberg, "expanded percentile
 * interval").  Fewer than 2 slices: the share itself, twice. */
struct us_interval us_bootstrap_interval(struct us_bootstrap *b,
					 const struct us_slice_part *v, size_t n);

#endif
