/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample_queue.c: see sample_queue.h. */
#include "backend/bpf/sample_queue.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE US_BPF_QUEUE_BYTES

_Static_assert((SIZE & (SIZE - 1)) == 0 && 4 * US_BPF_MAX_SAMPLE < SIZE,
	       "positions are masked, and some samples fit");

bool us_bpf_queue_open(struct us_bpf_queue *q)
{
	void *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	memset(q, 0, sizeof(*q));
	q->bytes = at == MAP_FAILED ? NULL : at;
	return q->bytes;
}

void us_bpf_queue_close(struct us_bpf_queue *q)
{
	if (q->bytes)
		munmap(q->bytes, SIZE);
	q->bytes = NULL;
}

/* Around the end of the buffer. */
static void put(struct us_bpf_queue *q, uint64_t at, const void *from, size_t n)
{
	size_t offset = at & (SIZE - 1), first = SIZE - offset < n ? SIZE - offset : n;
	memcpy(q->bytes + offset, from, first);
	memcpy(q->bytes, (const uint8_t *)from + first, n - first);
}

static void get(const struct us_bpf_queue *q, uint64_t at, void *to, size_t n)
{
	size_t offset = at & (SIZE - 1), first = SIZE - offset < n ? SIZE - offset : n;
	memcpy(to, q->bytes + offset, first);
	memcpy((uint8_t *)to + first, q->bytes, n - first);
}

bool us_bpf_queue_push(struct us_bpf_queue *q, const struct us_bpf_sample *l)
{
	uint64_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
	size_t n = sizeof(*l) + l->size;
	if (SIZE - (head - tail) < n)
		return false;
	put(q, head, l, n);
	atomic_store_explicit(&q->head, head + n, memory_order_release);
	return true;
}

bool us_bpf_queue_pop(struct us_bpf_queue *q, struct us_bpf_sample *to)
{
	uint64_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	if (tail == atomic_load_explicit(&q->head, memory_order_acquire))
		return false;
	get(q, tail, to, sizeof(*to));
	get(q, tail + sizeof(*to), to + 1, to->size);
	atomic_store_explicit(&q->tail, tail + sizeof(*to) + to->size,
			      memory_order_release);
	return true;
}

size_t us_bpf_queue_used(const struct us_bpf_queue *q)
{
	uint64_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	return (size_t)(atomic_load_explicit(&q->head, memory_order_acquire) - tail);
}
