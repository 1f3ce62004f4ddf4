/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interval.h: how far a share of samples may be from the truth, in two senses.
 *
 * The recorded span: the share of the time in which it was recorded.  What the guest
 * did is fixed; only the instants of the samples are random.  A sampler with distances
 * of U(0.5, 1.5) periods counts what lasts much longer than a period nearly exactly.
 * The error of a count is then that of the distances (a twelfth of the variance of
 * independent samples), plus a little for each change between samples.  For what
 * changes faster than the sampler, samples are as good as independent.  Which of both
 * applies to a function is seen from how often samples 1 to US_LAGS apart differ in it:
 * successive differences (K. Wolter, "An investigation of some estimators of variance
 * for systematic sampling", JASA 79, 1984), here with weights for the distances of this
 * sampler.
 *
 * The long run: the share that an endless recording would show.  The guest's own phases
 * are part of that error.  It is estimated from the slowest movements of the share,
 * with as many degrees of freedom as there are such movements (equal-weighted cosines:
 * U. Mueller, "HAC corrections for strongly autocorrelated time series", JBES 32, 2014;
 * E. Lazarus and others, "HAR inference", JBES 36, 2018).  What repeats within a small
 * part of the recording adds nothing to it; what takes as long as the recording adds
 * much.
 *
 * Pure functions.  Shares are 0 to 1, intervals are of 95 %.
 */
#ifndef US_PROFILE_INTERVAL_H
#define US_PROFILE_INTERVAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct us_interval {
	double low, high;
};

/* n: number of independent samples behind the share; 0 gives [0, 1]. */
struct us_interval us_interval_wilson(double share, double n);

/*
 * The number of equally weighted samples that would be as precise (L. Kish, "Survey
 * Sampling", 1965).  A share is a ratio: its error is a sum over all samples, of weight
 * times the difference from the share.
 *
 * weight: of all samples.  repeats: the sum of weight * (weight - 1) over all of them;
 * within: over those that the share is of.
 */
double us_interval_independent(double share, double weight, double within,
			       double repeats);

/* From the lower of both lows to the higher of both highs. */
struct us_interval us_interval_wider(struct us_interval a, struct us_interval b);

/* --- of the recorded span --- */

#define US_LAGS	    31 /* largest distance, in samples, of two that are compared */
#define US_FIT_LAGS 7  /* the same for US_LAG_FIT */

/*
 * Two sums over these distances.  Each is the variance or more, so the lower one is
 * used.
 *
 * - US_LAG_FIT: a fit for rectangular waves of all periods, with phases of exponential
 *   length, sampled at distances of U(0.5, 1.5).  It treats visits that are shorter
 *   than a period as random.
 * - US_LAG_BLOCK: the variance of the sum of a block of successive samples, per sample
 *   (Bartlett's weights).  It includes the guest's own variation, so it is far too
 *   large for what lasts long.  But visits that come at regular times, few periods
 *   apart, cannot fall into the same block by chance.
 */
enum us_lag_sum { US_LAG_FIT, US_LAG_BLOCK, US_N_LAG_SUM };

/* Samples in a block: the more samples there are in all, the longer it may be. */
unsigned us_block_size(double samples);
#define US_TICK_BLOCK 8 /* for ticks; see by_blocks() */

/* The weight of half the mean square of the difference of samples this far apart; for
 * lag 0, of the variance of one sample.  US_LAG_FIT's weights are from
 * tests/calibration/fit_lags.py. */
double us_lag_weight(enum us_lag_sum sum, unsigned block, unsigned lag);

/*
 * A better US_LAG_FIT, for distances that are seen to be U(0.5, 1.5).  It weights pairs
 * of samples up to US_FIT_LAGS apart by their distance in time, in periods.  [1 + i]:
 * distances from US_DISTANCE_FROM + i US_DISTANCE_STEP on; [0]: as above.
 */
#define US_DISTANCES	 14
#define US_DISTANCE_FROM 0.5
#define US_DISTANCE_STEP 0.25
extern const double us_distance_weight[US_DISTANCES + 1];

/*
 * The same where samples are ticks of a timer with a constant period that changes from
 * time to time (see backend/bpf/pace.h), and each counts for the time that it stands
 * for.  Ticks stay in step for long with a wave that is a little faster, so whether
 * they hit it is as random as with independent samples.
 */
#define US_TICK_LAGS 4
extern const double us_tick_weight[US_TICK_LAGS + 1];

enum us_lag_fit { US_FIT_BY_NUMBER, US_FIT_BY_DISTANCE, US_FIT_BY_TICKS };

/* Variance of the distances between samples, divided by the square of their mean. */
#define US_UNIFORM_SPREAD (1 / 12.0)

struct us_span_error {
	double share, n; /* n: samples */
	double spread;	 /* of the distances, as US_UNIFORM_SPREAD */
	/* Of a long recording a part of the samples is compared.  By chance the share
	 * differs there, so only the ratio of their variance to that of independent
	 * samples is taken from them. */
	double compared;       /* samples that `changes` is from */
	double compared_share; /* of them */
	double compared_n;     /* of them, as n; a few hits give no variance */
	unsigned block;	       /* us_block_size(compared) */
	double periods;	       /* US_FIT_BY_TICKS: number of the timer's periods */
	enum us_lag_fit fit;   /* how changes[US_LAG_FIT] is weighted */
	double changes[US_N_LAG_SUM]; /* sums over lags, per compared sample */
};
/* Variance of the share times n.  For independent samples it is share (1 - share). */
double us_span_variance(const struct us_span_error *x);
struct us_interval us_interval_span(const struct us_span_error *x);

/* --- in the long run --- */

#define US_COSINES 8 /* number of movements: degrees of freedom */

/* wave[j], j from 0: the value of movement j + 1 at the time of a sample; part: that
 * time as part of the span. */
void us_cosines_at(double part, double wave[US_COSINES]);
/* sum[j]: the sum over all samples of (in it - share) * wave[j]. */
struct us_interval us_interval_long_run(double share, double n,
					const double sum[US_COSINES]);

#endif
