/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nearest.h: what was meant by a mistyped name.
 *
 *	struct us_nearest n = us_nearest_to("repot");
 *	us_nearest_try(&n, "record");
 *	us_nearest_try(&n, "report");
 *	if (n.best)
 *		... "did you mean %s?"
 */
#ifndef US_BASE_NEAREST_H
#define US_BASE_NEAREST_H

#include <stdbool.h>

struct us_nearest {
	const char *word, *best; /* best: a candidate, not copied; NULL: none is near */
	unsigned distance;
};

struct us_nearest us_nearest_to(const char *word);

/* Near is: a third of the letters differ at most, or one begins with the other.  Of
 * equals the first stays.  Letters that were inserted, left out, replaced or swapped
 * with their neighbour count one each, whatever their case. */
void us_nearest_try(struct us_nearest *n, const char *candidate);

#endif
