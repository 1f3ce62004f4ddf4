/* SPDX-License-Identifier: GPL-2.0-or-later */
/* random.h: pseudo-random numbers: the same seed gives the same ones; not for secrets.
 */
#ifndef US_BASE_RANDOM_H
#define US_BASE_RANDOM_H

#include <stdint.h>

/* splitmix64 (Steele, Lea, Flood 2014): any seed is good, also 0. */
static inline uint64_t us_random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* In [0, 1). */
static inline double us_random_share(uint64_t *state)
{
	return (double)(us_random_next(state) >> 11) * 0x1p-53;
}

#endif
