/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring.h: samples from the sampler thread to the writer thread.
 *
 * One producer, one consumer, fixed size, lock-free.  An item is a sample with its
 * program counters, or the statistics as they were between two samples.  Because both
 * go through the ring in order, the statistics in the file are exact for the samples
 * before them.  When the ring is full, push says so and the sampler counts a lost
 * sample: it never waits.
 */
#ifndef US_RECORD_RING_H
#define US_RECORD_RING_H

#include "store/store.h"

struct us_ring;

enum us_ring_kind {
	US_RING_EMPTY,
	US_RING_SAMPLE,
	US_RING_STATS,
};

/* The first item in the ring.  Pointers point into the ring and are valid until
 * us_ring_pop(). */
struct us_ring_item {
	const struct us_sample *sample;
	const us_gva *pc;
	const uint8_t *flags; /* enum us_pc_flag of each */
	size_t n;
	const struct us_record_stats *stats;
};

/* size: bytes, rounded up to a power of two, at least 4096.  All of it is made present,
 * so that the sampler never waits for a page.  NULL: out of memory. */
struct us_ring *us_ring_new(size_t size);
void us_ring_free(struct us_ring *r); /* accepts NULL */
size_t us_ring_size(const struct us_ring *r);

/* Producer, hot path: no system call.  flags may be NULL: none is set.  false: full, or
 * n above US_MAX_FRAMES and US_MAX_HOST_FRAMES together. */
bool us_ring_push(struct us_ring *r, const struct us_sample *s, const us_gva *pc,
		  const uint8_t *flags, size_t n);
bool us_ring_push_stats(struct us_ring *r, const struct us_record_stats *s);

/* Consumer.  Pop only an item that was peeked at. */
enum us_ring_kind us_ring_peek(struct us_ring *r, struct us_ring_item *ret);
void us_ring_pop(struct us_ring *r);
size_t us_ring_used(const struct us_ring *r); /* bytes */

#endif
