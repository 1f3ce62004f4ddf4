/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slots.h: a hash table of numbers whose keys are stored elsewhere.
 *
 * A slot stores the hash of its key beside the number.  A search then skips most other
 * keys, and the table grows without reading any.
 */
#ifndef US_PROFILE_SLOTS_H
#define US_PROFILE_SLOTS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct us_slots {
	struct us_slot {
		uint32_t number; /* 0: free */
		uint32_t hash;
	} * v;
	size_t n; /* 0 or a power of two */
};

/* Make room for one more number; n_number: how many are there.  0 or -ENOMEM. */
US_MUST_CHECK int us_slots_make_room(struct us_slots *s, size_t n_number);
void us_slots_fini(struct us_slots *s);

/* Iterate over the slots that may have a number of this hash, up to the first free
 * one.  If no earlier slot has the number, that one is where it goes. */
static inline struct us_slot *us_slots_first(const struct us_slots *s, uint32_t hash)
{
	return &s->v[hash & (s->n - 1)];
}
static inline struct us_slot *us_slots_next(const struct us_slots *s,
					    const struct us_slot *x)
{
	return &s->v[(size_t)(x - s->v + 1) & (s->n - 1)];
}

#endif
