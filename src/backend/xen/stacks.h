/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen/stacks.h: copies of a domain's stacks, so that it goes on while they are unwound.
 *
 * A copy begins at the stack pointer; how long it is, the stacks unwound from it say.
 * Of the page behind the one where they ended nothing is taken. The page that it was
 * in at the sample before is read where it is mapped, if what maps it is as it was. At
 * first the domain
 * stays paused until they are: what is not in the copy is read from its memory, and
 * nothing is lost.  Once the copies of a vCPU have sufficed so often in succession, it
 * is resumed as soon as they are made.  A stack that does not fit then is cut, and the
 * domain stays paused again, for much longer: a guest with stacks of several kinds
 * (user programs, interrupts on stacks of their own) has few cut ones.
 */
#ifndef US_BACKEND_XEN_STACKS_H
#define US_BACKEND_XEN_STACKS_H

#include "backend/xen/pages.h"
#include "base/err.h"
#include "guest/paging.h"

#define US_XEN_STACK_MOST 16384 /* bytes of a copy */

/* A page of a stack: good while pages.n_change is the same, and the entry. */
struct us_xen_stack_page {
	us_gva va;
	struct us_space space;
	uint32_t change;
	uint64_t entry;
	const uint8_t *entry_at;	     /* NULL: there is none */
	struct us_xen_page *bytes, *entries; /* the page, and where the entry is */
};

struct us_xen_stacks {
	struct us_paging paging; /* of the sampler's memory */
	struct us_xen_pages *pages;
	struct us_xen_stack {
		uint8_t *bytes;	 /* owned */
		uint32_t size;	 /* of the copy, had there been memory for all of it */
		uint32_t need;	 /* bytes that were read of late */
		uint32_t streak; /* copies in succession that sufficed ... */
		uint32_t wanted; /* ... and that have to before it is trusted */
		us_gva end;	 /* of this stack, of late; 0: not known */
		us_gva next_end; /* the same, since a shorter time ... */
		unsigned n_end;	 /* ... of so many samples */
		struct us_xen_stack_page page;
	} * vcpu;
	unsigned n;
};

/* mem is what pages serve. */
US_MUST_CHECK int us_xen_stacks_init(struct us_xen_stacks *s, struct us_mem *mem,
				     struct us_xen_pages *pages, unsigned n_vcpu,
				     struct us_err *e);
void us_xen_stacks_fini(struct us_xen_stacks *s);

/* Hot path, once for each pause: the domain has run since. */
void us_xen_stacks_new_sample(struct us_xen_stacks *s);

/* Copy the stack at regs->sp.  false: the domain must stay paused for this one. */
bool us_xen_stacks_copy(struct us_xen_stacks *s, unsigned vcpu,
			const struct us_regs *regs, struct us_stack_copy *ret);

/* It was unwound from the copy. */
void us_xen_stacks_learn(struct us_xen_stacks *s, unsigned vcpu,
			 const struct us_stack_copy *c);

#endif
