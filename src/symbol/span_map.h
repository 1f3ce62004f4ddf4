/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * span_map.h: which of many address spans, nested or overlapping, covers an address.
 *
 * The spans are cut once into pieces that do not overlap.  A look-up is then one binary
 * search, however deep the spans nest.
 */
#ifndef US_SYMBOL_SPAN_MAP_H
#define US_SYMBOL_SPAN_MAP_H

#include <stddef.h>
#include <stdint.h>

#define US_SPAN_NONE UINT32_MAX

struct us_span {
	uint64_t start, end; /* end is the first address after it */
	uint32_t value;	     /* not US_SPAN_NONE */
};

struct us_span_map {
	uint64_t *start; /* sorted; piece k ends where k + 1 starts */
	uint32_t *value;
	size_t n;
};

/*
 * Build *ret from n spans, which are sorted in place; empty ones are ignored.  If
 * several cover an address, the one that starts last wins, then the one that ends
 * first, then the one with the greatest value.  0 or -ENOMEM.
 */
int us_span_map_build(struct us_span *spans, size_t n, struct us_span_map *ret);
void us_span_map_fini(struct us_span_map *m); /* accepts a zeroed one */

/* The value at addr, or US_SPAN_NONE. */
uint32_t us_span_map_find(const struct us_span_map *m, uint64_t addr);

#endif
