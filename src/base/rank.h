/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rank.h: what is typical of some measurements, and how far two sets of them differ.
 *
 * A program's times have no normal distribution: most are about equal, some are much
 * longer.  Nothing here assumes one: only the order of the values counts.
 *
 * - The interval of a median is between two of the values (binomial: W. R. Thompson
 *   1936).
 * - The difference of two sets is the median of all pairwise differences.  Its interval
 *   holds those that the test of Mann, Whitney and Wilcoxon does not reject (J. L.
 *   Hodges and E. L. Lehmann 1963).
 *
 * Intervals of medians are of 95 %.
 *
 * Whoever makes many comparisons finds a difference by chance.  To let this happen in
 * no more than 5 of 100 sets of comparisons, some comparisons need a stricter level (S.
 * Holm 1979): call us_rank_chance() for each, us_rank_share_out(), then us_rank_shift()
 * for each with the level that it got.  Its interval leaves out 0 if and only if Holm's
 * method finds a difference.
 */
#ifndef US_BASE_RANK_H
#define US_BASE_RANK_H

#include <stdbool.h>
#include <stddef.h>

struct us_estimate {
	double value, low, high;
	/* There were enough values for an interval; else low and high are the smallest
	 * and the largest value. */
	bool sure;
};

/* v is sorted.  With n 0 all results are 0. */
struct us_estimate us_rank_median(double *v, size_t n);

#define US_RANK_LEVEL 0.05 /* for a single comparison, and for all together */

/* How much longer the values of b are than those of a.  The interval misses the true
 * value in no more than this share (level) of all cases.  0 or -ENOMEM. */
int us_rank_shift(const double *a, size_t n_a, const double *b, size_t n_b,
		  double level, struct us_estimate *ret);

/* How often two sets with no real difference differ as much as these, or more: the
 * two-sided test of Mann, Whitney and Wilcoxon.  1: one is empty.  0 or -ENOMEM. */
int us_rank_chance(const double *a, size_t n_a, const double *b, size_t n_b,
		   double *ret);

/* From the chances of n comparisons: the level of each, so that all together have this
 * level. */
void us_rank_share_out(const double *chance, size_t n, double level, double *ret);

/* Does the interval exclude "no difference"? */
static inline bool us_rank_differs(const struct us_estimate *shift)
{
	return shift->sure && (shift->low > 0 || shift->high < 0);
}

#endif
