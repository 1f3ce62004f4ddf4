/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nearest.h: what was meant by a mistyped name, and what there is.
 *
 *	struct us_nearest n = us_nearest_to("repot");
 *	us_nearest_try(&n, "record");
 *	us_nearest_try(&n, "report");
 *	... "%s: no such command%s", n.word, us_nearest_question(&n, text, sizeof(text))
 *	... "one of %s", n.list
 */
#ifndef US_BASE_NEAREST_H
#define US_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

#define US_NEAREST_LISTED 12 /* names that are listed; then "..." */

struct us_nearest {
	const char *word, *best; /* best: a candidate, not copied; NULL: none is near */
	unsigned distance, n;	 /* n: of candidates */
	char list[200];		 /* of the first candidates: "record, report, ..." */
};

struct us_nearest us_nearest_to(const char *word);

/* Near is: a third of the letters differ at most, or one begins with the other.  Of
 * equals the first stays.  Letters that were inserted, left out, replaced or swapped
 * with their neighbour count one each, whatever their case. */
void us_nearest_try(struct us_nearest *n, const char *candidate);

/* "; did you mean report?", or "" if none is near.  Returns dst. */
char *us_nearest_question(const struct us_nearest *n, char *dst, size_t size);

#endif
