/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rank.h: what is typical of some measurements, and how far two sets of them differ.
 *
 * Times of a program have no normal distribution: most are about equal, some are much
 * longer.  So nothing here supposes one: only the order of the values counts.  The
 * interval of a median is between two of the values (binomial: W. R. Thompson 1936);
 * the difference of two sets is the median of all differences, and its interval holds
 * those that the test of Mann, Whitney and Wilcoxon does not refuse (J. L. Hodges and
 * E. L. Lehmann 1963).  Intervals of medians are of 95 %.
 *
 * Who makes many comparisons finds a difference by chance.  That this happens in no
 * more than 5 of 100 sets of comparisons, some must be surer than others (S. Holm
 * 1979): us_rank_chance() of each, us_rank_share_out(), then us_rank_shift() of each
 * with the level that it got.  Its interval leaves out 0 if and only if Holm's method
 * finds a difference.
 */
#ifndef US_BASE_RANK_H
#define US_BASE_RANK_H

#include <stdbool.h>
#include <stddef.h>

struct us_estimate {
	double value, low, high;
	/* There were enough values for an interval; else low and high are the least and
	 * the most that was seen. */
	bool sure;
};

/* v is sorted.  n 0: all is 0. */
struct us_estimate us_rank_median(double *v, size_t n);

#define US_RANK_LEVEL 0.05 /* of a single comparison, and of all together */

/* How much longer those of b are than those of a; the interval misses that in no more
 * than this part of all cases.  0 or -ENOMEM. */
int us_rank_shift(const double *a, size_t n_a, const double *b, size_t n_b,
		  double level, struct us_estimate *ret);

/* How often sets that do not differ are as different as these, or more: of the test of
 * Mann, Whitney and Wilcoxon, both sides.  1: one is empty.  0 or -ENOMEM. */
int us_rank_chance(const double *a, size_t n_a, const double *b, size_t n_b,
		   double *ret);

/* The level of each of n comparisons, of which these are the chances, for all together
 * to have this one. */
void us_rank_share_out(const double *chance, size_t n, double level, double *ret);

/* Does the interval leave out that there is none? */
static inline bool us_rank_differs(const struct us_estimate *shift)
{
	return shift->sure && (shift->low > 0 || shift->high < 0);
}

#endif
