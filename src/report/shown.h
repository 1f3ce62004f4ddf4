/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shown.h: the samples of a thread in order of time, many millions of them: where and
 * when.  Eight bytes each; the rare additional data is stored apart.
 */
#ifndef US_REPORT_SHOWN_H
#define US_REPORT_SHOWN_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define US_SHOWN_FAR UINT32_MAX

struct us_shown {
	struct us_shown_sample {
		uint32_t node;
		uint32_t us; /* since the one before; US_SHOWN_FAR: see far */
	} * v;
	size_t n, room;
	uint32_t *weight; /* NULL: all weights are 1 */
	struct {
		struct us_shown_far {
			size_t at; /* in v */
			uint64_t us;
		} * v;
		size_t n, cap;
	} far; /* samples more than an hour after the one before, in order */
	uint64_t last_us;
};

/* Start empty, with room for n.  0 or -ENOMEM. */
US_MUST_CHECK int us_shown_begin(struct us_shown *s, size_t n);
void us_shown_fini(struct us_shown *s); /* accepts a zeroed one */

/* Slow path of us_shown_add(): data that does not fit into eight bytes. */
US_MUST_CHECK int us_shown_add_rare(struct us_shown *s, uint64_t us, uint32_t node,
				    uint32_t weight);

/* Add the next sample, for which there must be room; not earlier than the one before.
 * 0 or -ENOMEM. */
US_MUST_CHECK static inline int us_shown_add(struct us_shown *s, uint64_t at_us,
					     uint32_t node, uint32_t weight)
{
	uint64_t us = at_us - s->last_us;
	s->last_us = at_us;
	if (us >= US_SHOWN_FAR || weight != 1 || s->weight)
		return us_shown_add_rare(s, us, node, weight);
	s->v[s->n++] = (struct us_shown_sample){ node, (uint32_t)us };
	return 0;
}

/* For n samples from number `from`: microseconds since the one before (the first: since
 * 0), and weights. */
void us_shown_deltas(const struct us_shown *s, size_t from, size_t n, uint64_t *ret);
void us_shown_weights(const struct us_shown *s, size_t from, size_t n, uint64_t *ret);

#endif
