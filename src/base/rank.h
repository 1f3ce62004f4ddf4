/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rank.h: what is typical of some measurements, and how far two sets of them differ.
 *
 * Times of a program have no normal distribution: most are about equal, some are much
 * longer.  So nothing here supposes one: only the order of the values counts.  The
 * interval of a median is between two of the values (binomial: W. R. Thompson 1936);
 * the difference of two sets is the median of all differences, and its interval holds
 * those that the test of Mann, Whitney and Wilcoxon does not refuse (J. L. Hodges and
 * E. L. Lehmann 1963).  Intervals are of 95 %.
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

/* How much longer those of b are than those of a.  0 or -ENOMEM. */
int us_rank_shift(const double *a, size_t n_a, const double *b, size_t n_b,
		  struct us_estimate *ret);

/* Does the interval leave out that there is none? */
static inline bool us_rank_differs(const struct us_estimate *shift)
{
	return shift->sure && (shift->low > 0 || shift->high < 0);
}

#endif
