/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_index.h: which of many places are at an address, in time that grows with their
 * logarithm.  A guest with a thousand processes has tens of thousands of places.
 *
 * Places are added, then sorted once; a range that covers much else costs as many steps
 * as there are ranges of its address space that begin within it.
 */
#ifndef US_SYMBOL_PLACE_INDEX_H
#define US_SYMBOL_PLACE_INDEX_H

#include "symbol/symbol.h"

#include <stddef.h>
#include <stdint.h>

struct us_place_index {
	struct us_place_entry {
		us_gpa root;
		us_gva start, last;
		us_gva farthest; /* the greatest last of these up to this one */
		size_t number;
	} * v;
	size_t n, cap;
};

/* The next number is that of the places before.  0 or -ENOMEM. */
US_MUST_CHECK int us_place_index_add(struct us_place_index *x,
				     const struct us_symbol_place *p);
void us_place_index_sort(struct us_place_index *x);
void us_place_index_fini(struct us_place_index *x);

/* Visit the places of this address space (root) at pc, in any order. */
void us_place_index_at(const struct us_place_index *x, us_gpa root, us_gva pc,
		       void (*visit)(void *ctx, size_t number), void *ctx);

#endif
