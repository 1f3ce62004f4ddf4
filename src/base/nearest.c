/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nearest.c: see nearest.h. */
#include "base/nearest.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define MOST 48 /* letters; a longer name is not compared */

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The optimal string alignment distance, row by row. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned row[3][MOST + 1];
	for (size_t j = 0; j <= nb; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *now = row[i % 3];
		const unsigned *above = row[(i + 2) % 3], *two = row[(i + 1) % 3];
		now[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned d = above[j - 1] + !same(a[i - 1], b[j - 1]);
			d = least(d, least(above[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
			    same(a[i - 2], b[j - 1]))
				d = least(d, two[j - 2] + 1);
			now[j] = d;
		}
	}
	return row[na % 3][nb];
}

struct us_nearest us_nearest_to(const char *word)
{
	return (struct us_nearest){ .word = word, .distance = UINT_MAX };
}

/* A name that does not fit is left out, and so are all that follow. */
static void add_to_list(struct us_nearest *n, const char *candidate)
{
	static const char more[] = ", ...";
	size_t at = strlen(n->list), len = strlen(candidate);
	n->n++;
	if (at >= sizeof(more) && !strcmp(n->list + at - strlen(more), more))
		return;
	bool fits = n->n <= US_NEAREST_LISTED &&
		    at + 2 + len + sizeof(more) <= sizeof(n->list);
	if (fits)
		snprintf(n->list + at, sizeof(n->list) - at, "%s%s", at ? ", " : "",
			 candidate);
	else if (at)
		memcpy(n->list + at, more, sizeof(more));
}

void us_nearest_try(struct us_nearest *n, const char *candidate)
{
	add_to_list(n, candidate);
	size_t a = strlen(n->word), b = strlen(candidate), longer = a > b ? a : b;
	if (!a || !b || longer > MOST)
		return;
	unsigned d = distance(n->word, a, candidate, b);
	bool begins = a > 2 && a < b && !strncasecmp(n->word, candidate, a);
	unsigned near = longer < 6 ? 1 + (longer > 2) : (unsigned)longer / 3;
	/* A name that continues the word is closer than one with another letter. */
	if (begins)
		d = 1;
	if (d <= near && d < longer && d < n->distance) {
		n->distance = d;
		n->best = candidate;
	}
}

void us_nearest_keep(struct us_nearest *n, const char *candidate, char *kept,
		     size_t size)
{
	const char *before = n->best;
	us_nearest_try(n, candidate);
	if (n->best == before)
		return;
	snprintf(kept, size, "%s", candidate);
	n->best = kept;
}

char *us_nearest_question(const struct us_nearest *n, char *dst, size_t size)
{
	snprintf(dst, size, "%s%s%s", n->best ? "; did you mean " : "",
		 n->best ? n->best : "", n->best ? "?" : "");
	return dst;
}
