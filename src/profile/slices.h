/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slices.h: sums of samples by key (what they are) and by time.
 *
 * Time is cut into at most US_SLICES_MAX slices of equal width.  The length of a
 * recording is known only at its end.  Slices therefore start short, and whenever there
 * are too many, they are joined in pairs of double width.  Memory: 8 bytes for each
 * distinct (key, slice), 4 for each possible key.
 */
#ifndef US_PROFILE_SLICES_H
#define US_PROFILE_SLICES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_SLICES_MAX	   64
#define US_SLICES_WIDTH_NS (1 << 20) /* at first: about a millisecond */
#define US_SLICES_QUEUE	   64

struct us_slice_sum {
	uint32_t key, weight;
};

struct us_slices {
	uint64_t width_ns, end_ns; /* width of a slice; end of the open slice */
	unsigned n;		   /* slices so far; the last one is open */
	struct {
		struct us_slice_sum *v;
		size_t n, cap;
	} sums;
	size_t start[US_SLICES_MAX + 1]; /* first sum of each slice; [n]: the end */
	size_t n_closed; /* sums of closed slices; later ones have only their keys */
	uint32_t *open;	 /* by key: weight in the open slice; 0: not in it */
	size_t n_open;	 /* number of keys in open */
	/* Waiting to be added to the open slice, so that cache misses overlap. */
	struct us_slice_sum queue[US_SLICES_QUEUE];
	unsigned n_queue;
};

void us_slices_init(struct us_slices *s);
void us_slices_fini(struct us_slices *s);

/* Call before the first sample, if known: there will be samples at t_ns or later.
 * Slices then need not be joined until that time; the result is the same. */
void us_slices_expect(struct us_slices *s, uint64_t t_ns);

/* The slow path of the two functions below. */
US_MUST_CHECK int us_slices_add_slowly(struct us_slices *s, uint32_t key, uint64_t t_ns,
				       uint32_t weight, bool now);

/* Add weight at t_ns, with a delay.  A time that goes backwards counts for the open
 * slice.  0, -ENOMEM, or -E2BIG: more than 2^32 sums.  Call us_slices_end() after the
 * last one. */
US_MUST_CHECK static inline int us_slices_queue(struct us_slices *s, uint32_t key,
						uint64_t t_ns, uint32_t weight)
{
	if (key >= s->n_open || t_ns >= s->end_ns || s->n_queue == US_SLICES_QUEUE)
		return us_slices_add_slowly(s, key, t_ns, weight, false);
	__builtin_prefetch(&s->open[key], 1);
	s->queue[s->n_queue++] = (struct us_slice_sum){ key, weight };
	return 0;
}

/* The same without a delay: for few keys, which cause no cache misses.  Do not use both
 * on one object. */
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
/* Bring all that was added into the sums.  0, -ENOMEM or -E2BIG. */
US_MUST_CHECK int us_slices_end(struct us_slices *s);
/* Nothing will be added after us_slices_end(): frees what only that needs.  n_open
 * remains. */
void us_slices_seal(struct us_slices *s);

#endif
