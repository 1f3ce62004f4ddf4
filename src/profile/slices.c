/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slices.c: see slices.h. */
#include "profile/slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD 16 /* keys; their weights are anywhere in memory */

void us_slices_init(struct us_slices *s)
{
	*s = (struct us_slices){ .width_ns = US_SLICES_WIDTH_NS,
				 .end_ns = US_SLICES_WIDTH_NS,
				 .n = 1 };
}

void us_slices_fini(struct us_slices *s)
{
	free(s->sums.v);
	free(s->open);
	*s = (struct us_slices){ 0 };
}

/* Move the weights of the open slice to its sums, which have only their keys yet. */
static void close_sums(struct us_slices *s)
{
	struct us_slice_sum *v = s->sums.v;
	for (size_t i = s->n_closed; i < s->sums.n; i++) {
		if (i + AHEAD < s->sums.n)
			__builtin_prefetch(&s->open[v[i + AHEAD].key], 1);
		v[i].weight += s->open[v[i].key];
		s->open[v[i].key] = 0;
	}
	s->n_closed = s->sums.n;
}

/* Add to the open slice, from the queue, for which there is room, or from a later part
 * of sums: writing never overtakes reading.  No branch depends on a key, because keys
 * are unpredictable. */
static void add_sums(struct us_slices *s, const struct us_slice_sum *x, size_t n)
{
	struct us_slice_sum *to = s->sums.v + s->sums.n;
	for (size_t i = 0; i < n; i++) {
		struct us_slice_sum add = x[i];
		uint32_t had = s->open[add.key];
		bool overflows = had > UINT32_MAX - add.weight;
		if (i + AHEAD < n)
			__builtin_prefetch(&s->open[x[i + AHEAD].key], 1);
		*to = (struct us_slice_sum){ add.key, overflows ? had : 0 };
		to += overflows | (!had & (add.weight > 0));
		s->open[add.key] = add.weight + (overflows ? 0 : had);
	}
	s->sums.n = (size_t)(to - s->sums.v);
	s->start[s->n] = s->sums.n;
}

static void join_pairs(struct us_slices *s)
{
	unsigned n = s->n;
	size_t from = 0;
	s->sums.n = s->n_closed = 0;
	s->n = 0;
	for (unsigned i = 0; i < n; i++) {
		size_t end = s->start[i + 1];
		if (i % 2 == 0) {
			close_sums(s);
			s->start[s->n++] = s->sums.n;
		}
		if (from < end)
			add_sums(s, s->sums.v + from, end - from);
		from = end;
	}
	close_sums(s);
	s->start[s->n] = s->sums.n;
	s->width_ns *= 2;
}

static void open_slice_of(struct us_slices *s, uint64_t t_ns)
{
	close_sums(s);
	/* This ends: 64 slices of a width above 2^57 ns hold every uint64_t. */
	while (t_ns / s->width_ns >= US_SLICES_MAX)
		join_pairs(s);
	unsigned i = (unsigned)(t_ns / s->width_ns);
	for (; s->n <= i; s->n++)
		s->start[s->n] = s->start[s->n + 1] = s->sums.n;
	if (__builtin_mul_overflow(s->n, s->width_ns, &s->end_ns))
		s->end_ns = UINT64_MAX;
}

static int grow_open(struct us_slices *s, uint32_t key)
{
	size_t n = s->n_open ? s->n_open : 1024;
	while (n <= key)
		n *= 2;
	uint32_t *p = realloc(s->open, n * sizeof(*p));
	if (!p)
		return -ENOMEM;
	memset(p + s->n_open, 0, (n - s->n_open) * sizeof(*p));
	s->open = p;
	s->n_open = n;
	return 0;
}

/* Make room for what is queued. */
static int make_room(struct us_slices *s)
{
	size_t need = s->sums.n + s->n_queue, cap = s->sums.cap ? s->sums.cap : 1024;
	if (need <= s->sums.cap)
		return 0;
	if (need > UINT32_MAX)
		return -E2BIG;
	while (cap < need)
		cap *= 2;
	struct us_slice_sum *v = realloc(s->sums.v, cap * sizeof(*v));
	if (!v)
		return -ENOMEM;
	s->sums.v = v;
	s->sums.cap = cap;
	return 0;
}

static int add_queued(struct us_slices *s)
{
	int rc = make_room(s);
	if (!rc && s->n_queue)
		add_sums(s, s->queue, s->n_queue);
	s->n_queue = 0;
	return rc;
}

int us_slices_end(struct us_slices *s)
{
	int rc = add_queued(s);
	close_sums(s);
	return rc;
}

void us_slices_seal(struct us_slices *s)
{
	free(s->open);
	s->open = NULL;
}

int us_slices_add_slowly(struct us_slices *s, uint32_t key, uint64_t t_ns,
			 uint32_t weight, bool now)
{
	int rc = 0;
	if (key >= s->n_open)
		rc = grow_open(s, key);
	bool later = t_ns >= s->end_ns;
	if (!rc && (later || s->n_queue == US_SLICES_QUEUE))
		rc = add_queued(s);
	if (rc)
		return rc;
	if (later)
		open_slice_of(s, t_ns);
	s->queue[s->n_queue++] = (struct us_slice_sum){ key, weight };
	return now ? add_queued(s) : 0;
}

void us_slices_expect(struct us_slices *s, uint64_t t_ns)
{
	while (t_ns / s->width_ns >= US_SLICES_MAX)
		s->width_ns *= 2;
	s->end_ns = s->width_ns;
}
