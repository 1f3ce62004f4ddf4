/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring.h: samples from the sampler thread to the writer thread.
 *
 * One producer, one consumer, fixed in size, lock-free.  A record is a header and its
 * program counters.  When it is full, push says so and the sampler counts a lost
 * sample: it never waits.
 */
#ifndef US_RECORD_RING_H
#define US_RECORD_RING_H

#include "store/store.h"

struct us_ring;

/* size: bytes, rounded up to a power of two. NULL: out of memory. */
struct us_ring *us_ring_new(size_t size);
void us_ring_free(struct us_ring *r); /* accepts NULL */

/* Producer, hot path. false: full. */
bool us_ring_push(struct us_ring *r, const struct us_sample *s, const us_gva *pc,
		  size_t n);
/* Consumer. false: empty. *ret_pc points into the ring until us_ring_pop(). */
bool us_ring_peek(struct us_ring *r, struct us_sample *ret, const us_gva **ret_pc,
		  size_t *ret_n);
void us_ring_pop(struct us_ring *r);

#endif
