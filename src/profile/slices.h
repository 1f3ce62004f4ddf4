/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slices.h: sums of samples by what they are (a key) and when they were.
 *
 * Time is cut into at most US_SLICES_MAX slices of equal width.  How long a recording
 * is turns out only at its end, so slices start short and are joined in pairs, to
 * double the width, whenever there are too many.  Memory: 8 bytes for each distinct
 * (key, slice), 4 for each possible key.
 */
#ifndef US_PROFILE_SLICES_H
#define US_PROFILE_SLICES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_SLICES_MAX	   64
#define US_SLICES_WIDTH_NS (1 << 20) /* of the first ones: about a millisecond */
#define US_SLICES_QUEUE	   64

struct us_slice_sum {
	uint32_t key, weight;
};

struct us_slices {
	uint64_t width_ns, end_ns; /* of one; of the open one */
	unsigned n;		   /* slices so far; the last one is open */
	struct {
		struct us_slice_sum *v;
		size_t n, cap;
	} sums;
	size_t start[US_SLICES_MAX + 1]; /* of each slice in sums; [n]: the end */
	size_t n_closed; /* of sums; those behind have their keys only */
	uint32_t *open;	 /* by key: its weight in the open slice; 0: it is not there */
	size_t n_open;	 /* keys that open has room for */
	/* What is to be added to the open slice, later, so that cache misses overlap.
	 */
	struct us_slice_sum queue[US_SLICES_QUEUE];
	unsigned n_queue;
};

void us_slices_init(struct us_slices *s);
void us_slices_fini(struct us_slices *s);

/* Before the first one, if it is known: there will be samples at t_ns, or later.  So
 * slices need not be joined until then, and become no others. */
void us_slices_expect(struct us_slices *s, uint64_t t_ns);

/* The two below where more is to be done. */
US_MUST_CHECK int us_slices_add_slowly(struct us_slices *s, uint32_t key, uint64_t t_ns,
				       uint32_t weight, bool now);

/* Add weight at t_ns, later.  Time that runs backwards counts to the open slice.  0,
 * -ENOMEM, or -E2BIG: more than 2^32 sums.  After the last one us_slices_end() is due.
 */
US_MUST_CHECK static inline int us_slices_queue(struct us_slices *s, uint32_t key,
						uint64_t t_ns, uint32_t weight)
{
	if (key >= s->n_open || t_ns >= s->end_ns || s->n_queue == US_SLICES_QUEUE)
		return us_slices_add_slowly(s, key, t_ns, weight, false);
	__builtin_prefetch(&s->open[key], 1);
	s->queue[s->n_queue++] = (struct us_slice_sum){ key, weight };
	return 0;
}

/* The same at once: for few keys, which miss no cache.  Not both in one object. */
US_MUST_CHECK static inline int us_slices_add(struct us_slices *s, uint32_t key,
					      uint64_t t_ns, uint32_t weight)
{
	uint32_t sum;
	if (key >= s->n_open || t_ns >= s->end_ns || !s->open[key] ||
	    __builtin_add_overflow(s->open[key], weight, &sum))
		return us_slices_add_slowly(s, key, t_ns, weight, true);
	s->open[key] = sum;
	return 0;
}
/* What was added is in the sums.  0, -ENOMEM or -E2BIG. */
US_MUST_CHECK int us_slices_end(struct us_slices *s);

#endif
