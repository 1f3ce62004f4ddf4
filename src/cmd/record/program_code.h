/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program_code.h: the rules by which stacks of a Linux guest's programs are unwound.
 *
 * Each program has its call frame information mapped.  The kernel's thread reads it,
 * away from the hot path, of what processes have mapped in which samples were; it makes
 * one set of all places, and offers that.  The sampler takes it between two samples: a
 * pointer changes hands.  A set is freed once the sampler has the next.
 */
#ifndef US_CMD_PROGRAM_CODE_H
#define US_CMD_PROGRAM_CODE_H

#include "unwind/cfi.h"

#include <stdatomic.h>

#define US_CODE_MOST_PLACES 4096U	/* mappings of programs that have rules */
#define US_CODE_MOST_TABLES (64U << 20) /* bytes of rules */

/* Blocks of places, each the next one's; the rest is zero. */
struct us_code_set {
	size_t n; /* places */
	struct us_cfi block[];
};

struct us_program_code {
	_Atomic(struct us_code_set *) offered; /* by the reading thread */
	_Atomic(struct us_code_set *) taken;   /* by the sampler */
	/* Of the reading thread. */
	struct us_code_set *old; /* the sampler may have it, until it takes the next */
	struct {
		struct us_cfi_table **v;
		size_t n, cap;
	} gone;		 /* tables that only older sets have ... */
	size_t n_unused; /* ... so many of them not even the one that is offered */
	struct us_code_place {
		const struct us_cfi_table *table;
		uint64_t bias;
		us_gpa root;
	} * place; /* US_CODE_MOST_PLACES, of the set that is being made */
	size_t n_place;
	uint64_t hash;	   /* of those offered */
	unsigned n_change; /* times that another was offered */
	size_t bytes;	   /* of all tables */
};

/* After the sampler has ended, or let go of it. */
void us_program_code_fini(struct us_program_code *c); /* accepts a zeroed one */

/* In the reading thread: begin a set, add to it, and offer it if it is another than the
 * last and the sampler has taken that. */
void us_program_code_begin(struct us_program_code *c);
/* false: there are US_CODE_MOST_PLACES already. */
bool us_program_code_add(struct us_program_code *c, const struct us_cfi_table *t,
			 uint64_t bias, us_gpa root);
void us_program_code_offer(struct us_program_code *c);
/* The same where the reading thread itself goes by the sets, and nobody else: the one
 * before is freed at once.  It has the next when n_change is another. */
void us_program_code_replace(struct us_program_code *c);
/* There is a better one, or none any more: it is freed when no set has it. */
void us_program_code_retire(struct us_program_code *c, struct us_cfi_table *t);

/* In the sampler, between two samples: the set that is offered, if it is not the one
 * taken last; NULL.  Taken it is once the unwinder goes by it. */
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
