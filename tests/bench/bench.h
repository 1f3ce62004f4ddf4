/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench.h: what the benchmarks share. */
#ifndef US_BENCH_H
#define US_BENCH_H

#include "base/clock.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline void need(int r, const struct us_err *e)
{
	if (!r)
		return;
	fprintf(stderr, "bench: %s (%d)\n", e ? e->msg : "failed", r);
	exit(1);
}

static inline uint64_t bench_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* Small numbers often, large ones seldom: about Zipf's law over 0 to n - 1. */
static inline unsigned bench_skewed(uint64_t *s, unsigned n)
{
	unsigned bits = 1;
	while (1U << bits < n)
		bits++;
	uint64_t r = bench_random(s);
	unsigned v = (unsigned)(r >> 32) & ((1U << (1 + r % bits)) - 1);
	return v % n;
}

#endif
