/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nearest.h: which name the user meant by a mistyped one, and which names there are.
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

#define US_NEAREST_LISTED 12 /* names in the list; then "..." */

struct us_nearest {
	const char *word, *best; /* best: a candidate, not copied; NULL: none is near */
	unsigned distance, n;	 /* n: number of candidates */
	char list[200];		 /* the first candidates: "record, report, ..." */
};

struct us_nearest us_nearest_to(const char *word);

/* A candidate is near if at most a third of the letters differ, or if one word begins
 * with the other.  The first of several equally near ones stays.  A letter that was
 * inserted, left out, replaced or swapped with its neighbour counts as one, whatever
 * its case. */
void us_nearest_try(struct us_nearest *n, const char *candidate);

/* As us_nearest_try(), for a candidate that does not last: the nearest is copied to
 * kept, which is the same at each call. */
void us_nearest_keep(struct us_nearest *n, const char *candidate, char *kept,
		     size_t size);

/* "; did you mean report?", or "" if none is near.  Returns dst. */
char *us_nearest_question(const struct us_nearest *n, char *dst, size_t size);

#endif
