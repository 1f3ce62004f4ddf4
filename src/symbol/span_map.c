/* SPDX-License-Identifier: GPL-2.0-or-later */
/* span_map.c: see span_map.h. */
#include "symbol/span_map.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static int by_start_outer_first(const void *a, const void *b)
{
	const struct us_span *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static void sort(struct us_span *spans, size_t n)
{
	size_t i = 1;
	while (i < n && by_start_outer_first(&spans[i - 1], &spans[i]) <= 0)
		i++;
	if (i < n)
		qsort(spans, n, sizeof(*spans), by_start_outer_first);
}

static void emit(struct us_span_map *m, uint64_t at, uint32_t value)
{
	if (m->n && m->start[m->n - 1] == at)
		m->n--; /* the piece before would be empty */
	if (m->n ? m->value[m->n - 1] == value : value == US_SPAN_NONE)
		return;
	m->start[m->n] = at;
	m->value[m->n++] = value;
}

/* The spans that cover the address reached so far, outermost first. */
struct open_spans {
	const struct us_span **v;
	size_t n;
};

/* Close what ends at or before limit; after each end its outer span goes on. */
static void close_until(struct open_spans *open, struct us_span_map *m, uint64_t limit)
{
	while (open->n && open->v[open->n - 1]->end <= limit) {
		uint64_t end = open->v[open->n - 1]->end;
		while (open->n && open->v[open->n - 1]->end <= end)
			open->n--;
		emit(m, end, open->n ? open->v[open->n - 1]->value : US_SPAN_NONE);
	}
}

static void sweep(const struct us_span *spans, size_t n, struct open_spans *open,
		  struct us_span_map *m)
{
	for (size_t i = 0; i < n; i++) {
		if (spans[i].start >= spans[i].end)
			continue;
		close_until(open, m, spans[i].start);
		open->v[open->n++] = &spans[i];
		emit(m, spans[i].start, spans[i].value);
	}
	close_until(open, m, UINT64_MAX);
}

static void shrink(struct us_span_map *m)
{
	void *p = realloc(m->start, m->n * sizeof(*m->start));
	if (p)
		m->start = p;
	p = realloc(m->value, m->n * sizeof(*m->value));
	if (p)
		m->value = p;
}

int us_span_map_build(struct us_span *spans, size_t n, struct us_span_map *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!n)
		return 0;
	/* Each span starts one piece and its end at most another. */
	_cleanup_free_ void *v = calloc(n,
					sizeof(struct us_span *)); /* touched as far
								       as they nest */
	struct us_span_map m = { .start = calloc(2 * n, sizeof(*m.start)),
				 .value = calloc(2 * n, sizeof(*m.value)) };
	if (!v || !m.start || !m.value) {
		us_span_map_fini(&m);
		return -ENOMEM;
	}
	sort(spans, n);
	struct open_spans open = { .v = v };
	sweep(spans, n, &open, &m);
	if (m.n)
		shrink(&m);
	else
		us_span_map_fini(&m);
	*ret = m;
	return 0;
}

void us_span_map_fini(struct us_span_map *m)
{
	free(m->start);
	free(m->value);
	memset(m, 0, sizeof(*m));
}

uint32_t us_span_map_find(const struct us_span_map *m, uint64_t addr)
{
	size_t low = 0, left = m->n;
	while (left) {
		size_t half = left / 2;
		bool up = m->start[low + half] <= addr;
		low = up ? low + half + 1 : low;
		left = up ? left - half - 1 : half;
	}
	return low ? m->value[low - 1] : US_SPAN_NONE;
}
