/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program_code.h: the rules to unwind the stacks of a Linux guest's programs.
 *
 * Each program has its call frame information mapped.  The kernel's thread reads it,
 * outside of the hot path, from what sampled processes have mapped.  It makes one set
 * of all places, and offers that.  The sampler takes the set between two samples by
 * exchanging a pointer.  A set is freed when the sampler has the next one.
 */
#ifndef US_CMD_PROGRAM_CODE_H
#define US_CMD_PROGRAM_CODE_H

#include "unwind/cfi.h"

#include <stdatomic.h>

#define US_CODE_MOST_PLACES 4096U	/* program mappings with rules */
#define US_CODE_MOST_TABLES (64U << 20) /* bytes of rules */

/* Linked blocks of places; the rest is zero. */
struct us_code_set {
	size_t n; /* places */
	struct us_cfi block[];
};

struct us_program_code {
	_Atomic(struct us_code_set *) offered; /* set by the reading thread */
	_Atomic(struct us_code_set *) taken;   /* set by the sampler */
	/* For the reading thread. */
	struct us_code_set *old; /* the sampler may use it until it takes the next */
	struct {
		struct us_cfi_table **v;
		size_t n, cap;
	} gone;		 /* tables that only older sets use ... */
	size_t n_unused; /* ... and the number that even the offered set does not use */
	struct us_code_place {
		const struct us_cfi_table *table;
		uint64_t bias;
		us_gpa root;
	} * place; /* US_CODE_MOST_PLACES, for the set being made */
	size_t n_place;
	uint64_t hash;	   /* of the offered places */
	unsigned n_change; /* number of different sets offered */
	size_t bytes;	   /* of all tables */
};

/* Call it after the sampler has ended, or dropped its set. */
void us_program_code_fini(struct us_program_code *c); /* accepts a zeroed one */

/* In the reading thread: begin a set, add places, and offer it if it differs from the
 * last one and the sampler has taken that. */
void us_program_code_begin(struct us_program_code *c);
/* False: there are US_CODE_MOST_PLACES already. */
bool us_program_code_add(struct us_program_code *c, const struct us_cfi_table *t,
			 uint64_t bias, us_gpa root);
void us_program_code_offer(struct us_program_code *c);
/* The same if only the reading thread itself uses the sets: the old one is freed at
 * once.  There is a new one when n_change has changed. */
void us_program_code_replace(struct us_program_code *c);
/* The table is replaced or no longer needed: it is freed when no set uses it. */
void us_program_code_retire(struct us_program_code *c, struct us_cfi_table *t);

/* In the sampler, between two samples: the offered set, if it differs from the one
 * taken last; else NULL.  Call us_program_code_taken() when the unwinder uses it. */
static inline struct us_code_set *us_program_code_next(const struct us_program_code *c)
{
	struct us_code_set *s = atomic_load_explicit(&c->offered, memory_order_acquire);
	return s == atomic_load_explicit(&c->taken, memory_order_relaxed) ? NULL : s;
}

static inline void us_program_code_taken(struct us_program_code *c,
					 struct us_code_set *s)
{
	atomic_store_explicit(&c->taken, s, memory_order_release);
}

#endif
