/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slices.c: see slices.h. */
#include "profile/slices.h"

#include "base/vec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void us_slices_init(struct us_slices *s)
{
	*s = (struct us_slices){ .width_ns = US_SLICES_WIDTH_NS,
				 .end_ns = US_SLICES_WIDTH_NS,
				 .n = 1 };
}

void us_slices_fini(struct us_slices *s)
{
	free(s->sums.v);
	free(s->where);
	*s = (struct us_slices){ 0 };
}

/* The sum of key in the open slice, or NULL.  where[] is never cleared: a stale entry
 * does not lie in the open slice, or does not hold the key (Briggs' sparse set). */
static struct us_slice_sum *find(const struct us_slices *s, uint32_t key)
{
	size_t at = s->where[key];
	if (at < s->start[s->n - 1] || at >= s->sums.n || s->sums.v[at].key != key)
		return NULL;
	return &s->sums.v[at];
}

static int add_to_open(struct us_slices *s, uint32_t key, uint32_t weight)
{
	struct us_slice_sum *sum = find(s, key);
	if (sum && sum->weight <= UINT32_MAX - weight) {
		sum->weight += weight;
		return 0;
	}
	if (s->sums.n >= UINT32_MAX)
		return -E2BIG;
	sum = us_vec_push(&s->sums);
	if (!sum)
		return -ENOMEM;
	*sum = (struct us_slice_sum){ key, weight };
	s->where[key] = (uint32_t)(s->sums.n - 1);
	s->start[s->n] = s->sums.n;
	return 0;
}

/* In place: what is written never overtakes what is read, so nothing can fail. */
static void join_pairs(struct us_slices *s)
{
	unsigned n = s->n;
	size_t from = 0, end = s->start[n];
	s->sums.n = 0;
	s->n = 0;
	for (unsigned i = 0; i < n; i++) {
		end = s->start[i + 1];
		if (i % 2 == 0)
			s->start[s->n++] = s->sums.n;
		for (; from < end; from++) {
			struct us_slice_sum sum = s->sums.v[from];
			if (add_to_open(s, sum.key, sum.weight))
				return;
		}
	}
	s->start[s->n] = s->sums.n;
	s->width_ns *= 2;
}

static void open_slice_of(struct us_slices *s, uint64_t t_ns)
{
	/* The last width is over 2^57 ns: 64 of them hold every uint64_t. */
	while (t_ns / s->width_ns >= US_SLICES_MAX)
		join_pairs(s);
	unsigned i = (unsigned)(t_ns / s->width_ns);
	for (; s->n <= i; s->n++)
		s->start[s->n] = s->start[s->n + 1] = s->sums.n;
	if (__builtin_mul_overflow(s->n, s->width_ns, &s->end_ns))
		s->end_ns = UINT64_MAX;
}

static int grow_where(struct us_slices *s, uint32_t key)
{
	size_t n = s->n_where ? s->n_where : 1024;
	while (n <= key)
		n *= 2;
	uint32_t *p = realloc(s->where, n * sizeof(*p));
	if (!p)
		return -ENOMEM;
	memset(p + s->n_where, 0, (n - s->n_where) * sizeof(*p));
	s->where = p;
	s->n_where = n;
	return 0;
}

int us_slices_end(struct us_slices *s)
{
	unsigned n = s->n_queue;
	int rc = 0;
	s->n_queue = 0;
	for (unsigned i = 0; i < n; i++)
		__builtin_prefetch(&s->where[s->queue[i].key], 1);
	for (unsigned i = 0; i < n; i++) {
		size_t at = s->where[s->queue[i].key];
		if (at < s->sums.n)
			__builtin_prefetch(&s->sums.v[at], 1);
	}
	for (unsigned i = 0; i < n && rc == 0; i++)
		rc = add_to_open(s, s->queue[i].key, s->queue[i].weight);
	return rc;
}

int us_slices_add_now(struct us_slices *s, uint32_t key, uint64_t t_ns, uint32_t weight)
{
	if (key >= s->n_where && grow_where(s, key))
		return -ENOMEM;
	if (t_ns >= s->end_ns)
		open_slice_of(s, t_ns);
	return add_to_open(s, key, weight);
}

int us_slices_add(struct us_slices *s, uint32_t key, uint64_t t_ns, uint32_t weight)
{
	int rc = 0;
	if (key >= s->n_where)
		rc = grow_where(s, key);
	bool later = t_ns >= s->end_ns;
	if (!rc && (later || s->n_queue == US_SLICES_QUEUE))
		rc = us_slices_end(s);
	if (rc)
		return rc;
	if (later)
		open_slice_of(s, t_ns);
	s->queue[s->n_queue++] = (struct us_slice_sum){ key, weight };
	return 0;
}
