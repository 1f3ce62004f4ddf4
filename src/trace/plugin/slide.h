/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slide.h: does code of the images run elsewhere than where they have it?  A kernel may
 * choose its place when it starts.  Functions whose first bytes no other has are looked
 * for in code that has no name; several that are equally far from their places tell.
 */
#ifndef US_TRACE_SLIDE_H
#define US_TRACE_SLIDE_H

#include "trace/functions.h"

#define US_SLIDE_PAGE  4096U /* images move by pages */
#define US_SLIDE_VOTES 3U    /* functions, before it is believed */
#define US_SLIDES      8U    /* places that are considered at once */

struct us_slide_function {
	uint64_t code; /* its first bytes */
	uint64_t entry;
	bool seen; /* elsewhere */
};

struct us_slide {
	struct us_slide_function *v; /* sorted by code, which is another in each */
	size_t n;
	struct us_slide_place {
		uint64_t distance; /* gva, by wrapping around */
		uint32_t votes;	   /* functions that are there */
	} place[US_SLIDES];
};

/* 0 or -ENOMEM; without functions, nothing is ever found. */
int us_slide_init(struct us_slide *s, const struct us_functions *f);
void us_slide_fini(struct us_slide *s);
/* Code without a name begins at pc with these bytes.  NULL: that says nothing, or not
 * enough; else where US_SLIDE_VOTES functions or more are, this one among them. */
const struct us_slide_place *us_slide_see(struct us_slide *s, uint64_t pc,
					  const uint8_t code[static sizeof(uint64_t)]);

#endif
