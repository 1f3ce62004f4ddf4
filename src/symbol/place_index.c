/* SPDX-License-Identifier: GPL-2.0-or-later */
/* place_index.c: see place_index.h. */
#include "symbol/place_index.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

int us_place_index_add(struct us_place_index *x, const struct us_symbol_place *p)
{
	size_t number = x->n;
	bool none = p->end && p->end <= p->start;
	struct us_place_entry *e = us_vec_push(x);
	if (!e)
		return -ENOMEM;
	e->root = p->root;
	e->number = number;
	e->start = none ? 1 : p->end ? p->start : 0;
	e->last = none ? 0 : p->end - 1; /* end 0: everywhere */
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct us_place_entry *x = a, *y = b;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

void us_place_index_sort(struct us_place_index *x)
{
	if (x->n)
		qsort(x->v, x->n, sizeof(*x->v), by_start);
	for (size_t i = 0; i < x->n; i++) {
		struct us_place_entry *e = &x->v[i];
		bool same = i && e[-1].root == e->root;
		e->farthest = same && e[-1].farthest > e->last ? e[-1].farthest
							       : e->last;
	}
}

void us_place_index_fini(struct us_place_index *x)
{
	free(x->v);
	*x = (struct us_place_index){ 0 };
}

/* The first entry behind those of this root that begin at pc or below. */
static size_t behind(const struct us_place_index *x, us_gpa root, us_gva pc)
{
	size_t low = 0, high = x->n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct us_place_entry *e = &x->v[mid];
		if (e->root < root || (e->root == root && e->start <= pc))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void us_place_index_at(const struct us_place_index *x, us_gpa root, us_gva pc,
		       void (*visit)(void *ctx, size_t number), void *ctx)
{
	for (size_t i = behind(x, root, pc); i > 0; i--) {
		const struct us_place_entry *e = &x->v[i - 1];
		if (e->root != root || e->farthest < pc)
			return;
		if (e->last >= pc)
			visit(ctx, e->number);
	}
}
