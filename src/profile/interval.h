/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interval.h: how far a share of samples may be from the truth, in two senses.
 *
 * Of the recorded span: the share of the time in which it was recorded.  The guest did
 * what it did; only the instants of the samples are random.  A sampler with a distance
 * of U(0.5, 1.5) periods counts what lasts much longer than a period nearly exactly:
 * the error of a count is then that of the distances (a twelfth of the variance of
 * independent samples), and a little for each change between samples.  What changes
 * faster than the sampler is as good as independent.  Which of both a function does is
 * seen from how often samples 1 to US_LAGS apart differ in it: successive differences
 * (K. Wolter, "An investigation of some estimators of variance for systematic
 * sampling", JASA 79, 1984), here with weights for the distances of this sampler.
 *
 * In the long run: the share that a recording without end would show.  The guest's own
 * phases are part of that error.  It is estimated from the slowest movements of the
 * share, with as many degrees of freedom as there are such movements (equal-weighted
 * cosines: U. Mueller, "HAC corrections for strongly autocorrelated time series", JBES
 * 32, 2014; E. Lazarus and others, "HAR inference", JBES 36, 2018).  What repeats
 * within a small part of the recording adds nothing, what takes as long as it much.
 *
 * Pure functions; shares are 0 to 1, intervals are of 95 %.
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

/* From the lower of both lows to the higher of both highs. */
struct us_interval us_interval_wider(struct us_interval a, struct us_interval b);

/* --- of the recorded span --- */

#define US_LAGS	    31 /* at most so many samples apart they are compared */
#define US_FIT_LAGS 7  /* by US_LAG_FIT */

/*
 * Two sums over these distances, and each is the variance or more than it; so the lower
 * one counts.
 *
 * US_LAG_FIT: a fit for rectangular waves of all periods and phases of exponential
 * length, sampled at distances U(0.5, 1.5).  It takes visits that are shorter than a
 * period for random ones.
 * US_LAG_BLOCK: the variance of the sum of a block of samples that follow each other,
 * for each of them (Bartlett's weights).  What the guest itself varies is in it, so it
 * is far too large for what lasts long; but where visits come at regular times, few
 * periods apart, they cannot fall together.
 */
enum us_lag_sum { US_LAG_FIT, US_LAG_BLOCK, US_N_LAG_SUM };

/* Samples in a block: the more there are in all, the longer it may be. */
unsigned us_block_size(double samples);
#define US_TICK_BLOCK 8 /* of ticks; see by_blocks() */

/* Of half the mean square of the difference of samples so many apart; lag 0: of the
 * variance of one.  US_LAG_FIT's are from tests/calibration/fit_lags.py. */
double us_lag_weight(enum us_lag_sum sum, unsigned block, unsigned lag);

/*
 * The better US_LAG_FIT where distances are seen to be U(0.5, 1.5): of pairs up to
 * US_FIT_LAGS apart that are so far apart in time, in periods.  [1 + i]: those from
 * US_DISTANCE_FROM + i US_DISTANCE_STEP on; [0]: as above.
 */
#define US_DISTANCES	 14
#define US_DISTANCE_FROM 0.5
#define US_DISTANCE_STEP 0.25
extern const double us_distance_weight[US_DISTANCES + 1];

/*
 * And where samples are ticks of a timer that is even until it gets another period (see
 * backend/bpf/pace.h), and each counts by the time that it stands for.  Ticks keep step
 * for long with what is a little faster than they are, so that this is no less sure to
 * be seen by chance than what changes at random.
 */
#define US_TICK_LAGS 4
extern const double us_tick_weight[US_TICK_LAGS + 1];

enum us_lag_fit { US_FIT_BY_NUMBER, US_FIT_BY_DISTANCE, US_FIT_BY_TICKS };

/* Of the distances between samples: their variance by the square of their mean. */
#define US_UNIFORM_SPREAD (1 / 12.0)

struct us_span_error {
	double share, n;     /* n: samples */
	double hits;	     /* of these that were in it; few give no variance */
	double spread;	     /* of the distances */
	double compared;     /* samples that changes are from */
	unsigned block;	     /* us_block_size() of them */
	double periods;	     /* US_FIT_BY_TICKS: that the timer had then */
	enum us_lag_fit fit; /* what changes[US_LAG_FIT] are weighted by */
	double changes[US_N_LAG_SUM]; /* sums over lags, for a sample */
};
/* Variance of the share times n; that of independent samples is share (1 - share). */
double us_span_variance(const struct us_span_error *x);
struct us_interval us_interval_span(const struct us_span_error *x);

/* --- in the long run --- */

#define US_COSINES 8 /* movements that are compared: degrees of freedom */

/* wave[j], j from 0: of movement j + 1 at the time of a sample, by part of the span. */
void us_cosines_at(double part, double wave[US_COSINES]);
/* sum[j]: over the samples, of (in it - share) * wave[j]. */
struct us_interval us_interval_long_run(double share, double n,
					const double sum[US_COSINES]);

#endif
