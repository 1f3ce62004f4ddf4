/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pair_map.h: a hash table from two numbers to a third.
 *
 * Keys come from recordings that are not trusted.  The hash has a secret seed, so that
 * nobody can make a file whose keys all have the same hash.
 */
#ifndef US_BASE_PAIR_MAP_H
#define US_BASE_PAIR_MAP_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* The 16 random bytes that the kernel gives every process (AT_RANDOM). */
struct us_hash_seed {
	uint64_t v[2];
};

struct us_pair_map {
	struct us_pair_slot {
		uint64_t a, b;
		uint32_t value; /* 0: the slot is free */
	} * v;
	size_t n, cap; /* cap: 0 or a power of two */
	struct us_hash_seed seed;
};

/* Where the value of (a, b) is stored.  It is 0 if the pair is new; the caller then
 * sets it to something else.  Valid until the next call.  NULL: out of memory. */
uint32_t *us_pair_map_at(struct us_pair_map *m, uint64_t a, uint64_t b);
void us_pair_map_fini(struct us_pair_map *m);

struct us_hash_seed us_hash_seed(void);
uint64_t us_hash_bytes(const void *bytes, size_t n); /* with the same seed */

static inline uint64_t us_hash_mix(uint64_t x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
	return x ^ x >> 32;
}

static inline size_t us_hash_pair(const struct us_hash_seed *seed, uint64_t a,
				  uint64_t b)
{
	return (size_t)us_hash_mix(us_hash_mix(a ^ seed->v[0]) + (b ^ seed->v[1]));
}

#endif
