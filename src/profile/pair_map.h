/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pair_map.h: a hash table from two numbers to a third.
 *
 * Keys come out of recordings that nobody vouches for, so the hash has a secret seed:
 * a file cannot be made that sends all keys to one place.
 */
#ifndef US_PROFILE_PAIR_MAP_H
#define US_PROFILE_PAIR_MAP_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct us_pair_map {
	struct us_pair_slot {
		uint64_t a, b;
		uint32_t value; /* 0: the slot is free */
	} * v;
	size_t n, cap; /* cap: 0 or a power of two */
};

/* The place of the value of (a, b), which is 0 if the pair is new: the caller then
 * sets it to something else.  Valid until the next call.  NULL: out of memory. */
uint32_t *us_pair_map_at(struct us_pair_map *m, uint64_t a, uint64_t b);
void us_pair_map_fini(struct us_pair_map *m);

/* Hashes with the same secret seed. */
size_t us_hash_pair(uint64_t a, uint64_t b);
uint64_t us_hash_bytes(const void *bytes, size_t n);

#endif
