/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slots.c: see slots.h. */
#include "backend/bpf/slots.h"

#include <stdbool.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
	const struct us_bpf_found_slot *x = a, *y = b;
	return x->size < y->size ? 1 : x->size > y->size ? -1 : 0;
}

static int by_start(const void *a, const void *b)
{
	const struct us_bpf_found_slot *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static bool continues(const struct us_bpf_found_slot *x,
		      const struct us_bpf_found_slot *next)
{
	return next->start - x->start == x->size && next->hva - x->hva == x->size;
}

unsigned us_bpf_join_slots(struct us_bpf_found_slot *slot, unsigned n)
{
	unsigned left = 0;
	qsort(slot, n, sizeof(*slot), by_start);
	for (unsigned i = 0; i < n; i++) {
		if (!slot[i].size)
			continue;
		if (left && continues(&slot[left - 1], &slot[i]))
			slot[left - 1].size += slot[i].size;
		else
			slot[left++] = slot[i];
	}
	qsort(slot, left, sizeof(*slot), by_size);
	return left;
}
