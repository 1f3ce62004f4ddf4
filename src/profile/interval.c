/* SPDX-License-Identifier: GPL-2.0-or-later */
/* interval.c: see interval.h. */
#include "profile/interval.h"

#include <math.h>

#define Z_95 1.959963984540054
/* Student's t, 97.5 %, for US_COSINES degrees of freedom, and for FEW. */
#define T_COSINES 2.306004135204166
#define FEW	  2
#define T_FEW	  4.302652729911275
/* F, 99 %, for FEW and US_COSINES - FEW degrees of freedom. */
#define F_FEW 10.92
/* The fit is too low if the guest's period is a little shorter than the sampler's: by a
 * quarter for a square wave of 0.7 periods, else by less than a tenth. */
#define MARGIN 1.05
/* The sampler keeps its samples apart, so those of a wave a little shorter than its
 * period cluster.  The variance is then at most this much above that of independent
 * samples. */
#define MOST  1.2
#define LEAST 0.02 /* clocks and timers are no better */
/* If distances are not the sampler's, the host is busy.  How long the guest ran between
 * two samples then varies more than the time between them, by this factor, from 40
 * recordings each of gdb and qmp (docs/accuracy.md). */
#define BUSY 3
/* The assumption that samples are independent weighs as much as this many pairs of
 * hits. */
#define PRIOR_PAIRS 4
/* For independent samples the fit varies as if four samples gave three degrees of
 * freedom.  This corrects for it, in samples: the square of Student's t divided by that
 * of the normal quantile. */
#define STUDENT 3.3
/* Ticks: the fit is too low by a fifth for cycles of 0.7 to 1 mean period, else right.
 */
#define TICK_MARGIN 1.1

static const double fit_weight[US_FIT_LAGS + 1] = { 0.0846, 1.6332, -1.0374, 0.4686,
						    -0.1490 };

const double us_distance_weight[US_DISTANCES + 1] = {
	0.0828, 0.5315,	 0.5070, 0.3100,  -0.0720, -0.0527, -0.1398, -0.1018,
	0.0427, -0.0182, 0.0345, -0.0919, 0.0066,  -0.0686, 0.0299,
};

const double us_tick_weight[US_TICK_LAGS + 1] = { 0.0132, 1.7177, -0.6842, -0.0357,
						  -0.011 };

unsigned us_block_size(double samples)
{
	return samples < 500 ? 8 : samples < 2000 ? 16 : US_LAGS + 1;
}

double us_lag_weight(enum us_lag_sum sum, unsigned block, unsigned lag)
{
	if (sum == US_LAG_FIT)
		return lag <= US_FIT_LAGS ? fit_weight[lag] : 0;
	if (!lag)
		return block;
	return lag < block ? -2 * (1 - (double)lag / block) : 0;
}

/* Relative standard error of the sum over blocks, times the root of the number of
 * samples.  For independent samples: the root of the sum of the squares of its weights.
 */
static double block_error(double size)
{
	return sqrt((size - 1) * (2 * size - 1) / size * 2 / 3);
}

static double clamp01(double x)
{
	return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* E. B. Wilson 1927, for any quantile. */
static struct us_interval score(double share, double n, double z)
{
	if (!(n > 0))
		return (struct us_interval){ 0, 1 };
	double zz = z * z, scale = 1 + zz / n;
	double mid = share + zz / (2 * n);
	double half = z * sqrt(share * (1 - share) / n + zz / (4 * n * n));
	struct us_interval i = { clamp01((mid - half) / scale),
				 clamp01((mid + half) / scale) };
	/* Rounding must not exclude what was seen. */
	return us_interval_wider(i, (struct us_interval){ share, share });
}

struct us_interval us_interval_wilson(double share, double n)
{
	return score(share, n, Z_95);
}

double us_interval_independent(double share, double weight, double within,
			       double repeats)
{
	double one = share * (1 - share);
	if (!(weight > 0))
		return 0;
	if (!(one > 0))
		return weight / (1 + repeats / weight);
	double more = (1 - share) * (1 - share) * within +
		      share * share * (repeats - within);
	return weight / (1 + more / weight / one);
}

struct us_interval us_interval_wider(struct us_interval a, struct us_interval b)
{
	return (struct us_interval){ fmin(a.low, b.low), fmax(a.high, b.high) };
}

static double by_blocks(const struct us_span_error *x, double one)
{
	double size = us_lag_weight(US_LAG_BLOCK, x->block, 0);
	double v = size * one + x->changes[US_LAG_BLOCK];
	double off = block_error(size) / sqrt(x->compared);
	/* Ticks of one period either keep step with a wave or not: blocks of them show
	 * Fejer's kernel at a random place, whose mean square is two thirds of size
	 * times the square of its mean.  A function consists of several waves. */
	if (x->fit == US_FIT_BY_TICKS)
		off = sqrt(off * off + size / 3 / x->periods);
	/* The lower of two estimates is used, and must not be lower by chance only.
	 * Assume that this one is too low by a standard error. */
	return off < 1 ? fmax(v, 0) / (1 - off) : INFINITY;
}

static double by_fit(const struct us_span_error *x, double one)
{
	const double *weight = x->fit == US_FIT_BY_DISTANCE ? us_distance_weight
			       : x->fit == US_FIT_BY_TICKS  ? us_tick_weight
							    : fit_weight;
	return weight[0] * one + x->changes[US_LAG_FIT];
}

/* The variance of a compared sample, by that of an independent one. */
static double compared_ratio(const struct us_span_error *x)
{
	double one = x->compared_share * (1 - x->compared_share), least = LEAST;
	if (!(one > 0))
		return 1;
	double v = by_fit(x, one);
	if (x->spread >= US_UNIFORM_SPREAD)
		least = US_UNIFORM_SPREAD;
	else if (x->fit != US_FIT_BY_TICKS)
		v -= (US_UNIFORM_SPREAD - x->spread) * one;
	v = fmin(v, by_blocks(x, one));
	double ratio = fmin(fmax(v / one, least), MOST);
	/* Distances that vary more make samples more like independent ones. */
	double like_independent = (x->spread - US_UNIFORM_SPREAD) /
				  (1 - US_UNIFORM_SPREAD);
	if (x->fit == US_FIT_BY_NUMBER)
		like_independent *= BUSY;
	like_independent = clamp01(like_independent);
	return ratio + like_independent * fmax(1 - ratio, 0);
}

double us_span_variance(const struct us_span_error *x)
{
	double part = fmin(x->compared_share, 1 - x->compared_share);
	double hits = part * x->compared_n, ratio = compared_ratio(x);
	/* Hits next to each other show that visits last.  The more pairs of hits could
	 * have been apart, the stronger this evidence is. */
	ratio = (ratio * hits * hits + PRIOR_PAIRS) / (hits * hits + PRIOR_PAIRS);
	ratio *= x->fit == US_FIT_BY_TICKS ? TICK_MARGIN : MARGIN;
	ratio *= 1 + STUDENT / fmax(x->compared_n, 1);
	return fmin(ratio, MOST) * x->share * (1 - x->share);
}

struct us_interval us_interval_span(const struct us_span_error *x)
{
	double one = x->share * (1 - x->share);
	double v = us_span_variance(x);
	return score(x->share, v > 0 ? x->n * one / v : x->n, Z_95);
}

void us_cosines_at(double part, double wave[US_COSINES])
{
	for (unsigned j = 0; j < US_COSINES; j++)
		wave[j] = cos(M_PI * (j + 1) * part);
}

static double square_sum(const double *v, unsigned n)
{
	double sum = 0;
	for (unsigned i = 0; i < n; i++)
		sum += v[i] * v[i];
	return sum;
}

struct us_interval us_interval_long_run(double share, double n,
					const double sum[US_COSINES])
{
	double one = share * (1 - share), z = T_COSINES;
	double mean = square_sum(sum, US_COSINES) / US_COSINES;
	double slow = square_sum(sum, FEW) / FEW;
	double rest = square_sum(sum + FEW, US_COSINES - FEW) / (US_COSINES - FEW);
	/* Such slow movements go on beyond the recording. */
	if (slow > F_FEW * rest) {
		mean = slow;
		z = T_FEW;
	}
	/* A cosine has a mean square of a half. */
	double variance = n > 0 ? 2 * mean / n : 0, most = n / US_UNIFORM_SPREAD;
	/* What is all there is or nothing does not move: a variance is rounding. */
	bool moves = one > 0 && variance > 0;
	return score(share, moves ? fmin(n * one / variance, most) : most, z);
}
