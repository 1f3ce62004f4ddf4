/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search.h: binary search in an ordered array.
 *
 *	size_t next = us_first_not(a.n, mid, a.v[mid].start <= pc);
 *	struct x *x = next ? &a.v[next - 1] : NULL;	// the last one at or before pc
 *
 * The index of the first of n elements for which the test does not hold; n if it holds
 * for all.  The test uses mid as the index of an element.  It must hold for all
 * elements before some place, and for none from there on.
 */
#ifndef US_BASE_SEARCH_H
#define US_BASE_SEARCH_H

#include <stddef.h>

#define us_first_not(n, mid, test)                                                     \
	({                                                                             \
		size_t us_low_ = 0, us_high_ = (n);                                    \
		while (us_low_ < us_high_) {                                           \
			size_t mid = us_low_ + (us_high_ - us_low_) / 2;               \
			if (test)                                                      \
				us_low_ = mid + 1;                                     \
			else                                                           \
				us_high_ = mid;                                        \
		}                                                                      \
		us_low_;                                                               \
	})

#endif
