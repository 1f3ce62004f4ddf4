/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring.c: see ring.h. */
#include "record/ring.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_FRAMES (US_MAX_FRAMES + US_MAX_HOST_FRAMES)
#define LEAST	   4096U
#define CACHE_LINE 64
#define SKIP	   0xffffU /* a kind: nothing more before the end of the buffer */

/* Items are multiples of 8 bytes and never wrap around the end of the buffer. */
struct item {
	uint32_t bytes; /* including this head */
	uint16_t kind;
	uint16_t n;
	union {
		struct us_sample sample; /* pc[n] and flags[n] follow */
		struct us_record_stats stats;
	};
};

#define SAMPLE_BYTES (offsetof(struct item, sample) + sizeof(struct us_sample))
#define STATS_BYTES  (offsetof(struct item, stats) + sizeof(struct us_record_stats))
#define HEAD_BYTES   offsetof(struct item, sample)
_Static_assert(SAMPLE_BYTES % 8 == 0 && STATS_BYTES % 8 == 0 && HEAD_BYTES == 8,
	       "the rest at the end must hold a head");
_Static_assert(2 * (SAMPLE_BYTES + 9 * MAX_FRAMES) <= LEAST, "one item must fit");

/* Positions count all bytes so far; each side writes its own, in its own cache line. */
struct us_ring {
	uint8_t *bytes;
	size_t size;
	_Alignas(CACHE_LINE) _Atomic uint64_t head; /* producer's */
	uint64_t tail_seen; /* as the producer saw it last: saves it a shared line */
	_Alignas(CACHE_LINE) _Atomic uint64_t tail; /* consumer's */
};

struct us_ring *us_ring_new(size_t size)
{
	struct us_ring *r = aligned_alloc(CACHE_LINE, sizeof(*r));
	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	for (r->size = LEAST; r->size < size;)
		r->size *= 2;
	r->bytes = mmap(NULL, r->size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (r->bytes == MAP_FAILED) {
		free(r);
		return NULL;
	}
	return r;
}

void us_ring_free(struct us_ring *r)
{
	if (!r)
		return;
	munmap(r->bytes, r->size);
	free(r);
}

size_t us_ring_size(const struct us_ring *r)
{
	return r->size;
}

static struct item *at(const struct us_ring *r, uint64_t position)
{
	return (struct item *)(r->bytes + (position & (r->size - 1)));
}

static bool has_room(struct us_ring *r, uint64_t head, size_t bytes)
{
	if (r->size - (head - r->tail_seen) >= bytes)
		return true;
	r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
	return r->size - (head - r->tail_seen) >= bytes;
}

/* An item to be filled, or NULL.  *head moves behind it; publish() makes it visible. */
static struct item *reserve(struct us_ring *r, uint64_t *head, size_t bytes)
{
	*head = atomic_load_explicit(&r->head, memory_order_relaxed);
	size_t left = r->size - (*head & (r->size - 1));
	size_t skip = left < bytes ? left : 0;
	if (!has_room(r, *head, skip + bytes))
		return NULL;
	if (skip) {
		struct item *rest = at(r, *head);
		rest->bytes = (uint32_t)skip;
		rest->kind = SKIP;
		*head += skip;
	}
	struct item *it = at(r, *head);
	it->bytes = (uint32_t)bytes;
	*head += bytes;
	return it;
}

static void publish(struct us_ring *r, uint64_t head)
{
	atomic_store_explicit(&r->head, head, memory_order_release);
}

static size_t up_8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

bool us_ring_push(struct us_ring *r, const struct us_sample *s, const us_gva *pc,
		  const uint8_t *flags, size_t n)
{
	uint64_t head;
	if (n > MAX_FRAMES)
		return false;
	struct item *it = reserve(r, &head, SAMPLE_BYTES + n * sizeof(*pc) + up_8(n));
	if (!it)
		return false;
	it->kind = US_RING_SAMPLE;
	it->n = (uint16_t)n;
	it->sample = *s;
	uint8_t *to = (uint8_t *)it + SAMPLE_BYTES;
	if (n)
		memcpy(to, pc, n * sizeof(*pc));
	if (n && flags)
		memcpy(to + n * sizeof(*pc), flags, n);
	else
		memset(to + n * sizeof(*pc), 0, n);
	publish(r, head);
	return true;
}

bool us_ring_push_stats(struct us_ring *r, const struct us_record_stats *s)
{
	uint64_t head;
	struct item *it = reserve(r, &head, STATS_BYTES);
	if (!it)
		return false;
	it->kind = US_RING_STATS;
	it->stats = *s;
	publish(r, head);
	return true;
}

enum us_ring_kind us_ring_peek(struct us_ring *r, struct us_ring_item *ret)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
	if (tail == head)
		return US_RING_EMPTY;
	const struct item *it = at(r, tail);
	if (it->kind == SKIP) { /* the producer never leaves it last */
		tail += it->bytes;
		atomic_store_explicit(&r->tail, tail, memory_order_release);
		it = at(r, tail);
	}
	if (it->kind == US_RING_STATS) {
		*ret = (struct us_ring_item){ .stats = &it->stats };
		return US_RING_STATS;
	}
	const uint8_t *behind = (const uint8_t *)it + SAMPLE_BYTES;
	*ret = (struct us_ring_item){
		.sample = &it->sample,
		.pc = (const us_gva *)behind,
		.flags = behind + it->n * sizeof(us_gva),
		.n = it->n,
	};
	return US_RING_SAMPLE;
}

void us_ring_pop(struct us_ring *r)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	uint32_t bytes = at(r, tail)->bytes;
	atomic_store_explicit(&r->tail, tail + bytes, memory_order_release);
}

size_t us_ring_used(const struct us_ring *r)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	return (size_t)(atomic_load_explicit(&r->head, memory_order_acquire) - tail);
}
