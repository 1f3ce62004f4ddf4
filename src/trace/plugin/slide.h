/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slide.h: does code of the images run at other addresses than the images say?  A
 * kernel may choose its address when it starts.  Functions with unique first bytes are
 * searched for in code without names.  If several are found at the same distance from
 * their addresses, that distance is the answer.
 */
#ifndef US_TRACE_SLIDE_H
#define US_TRACE_SLIDE_H

#include "trace/functions.h"

#define US_SLIDE_PAGE  4096U /* images move by pages */
#define US_SLIDE_VOTES 3U    /* functions needed for an answer */
#define US_SLIDES      8U    /* candidate distances at a time */

struct us_slide_function {
	uint64_t code; /* its first bytes */
	uint64_t entry;
	bool seen; /* found elsewhere */
};

struct us_slide {
	struct us_slide_function *v; /* sorted by code, which is unique */
	size_t n;
	struct us_slide_place {
		uint64_t distance; /* gva difference, modulo 2^64 */
		uint32_t votes;	   /* functions found at this distance */
	} place[US_SLIDES];
};

/* 0 or -ENOMEM.  Without functions, nothing is ever found. */
int us_slide_init(struct us_slide *s, const struct us_functions *f);
void us_slide_fini(struct us_slide *s);
/* Code without a name begins at pc with these bytes.  Returns the place at which
 * US_SLIDE_VOTES or more functions, including this one, were found; NULL: not enough,
 * or not a known function. */
const struct us_slide_place *us_slide_see(struct us_slide *s, uint64_t pc,
					  const uint8_t code[static sizeof(uint64_t)]);

#endif
