/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen/stacks.h: copies of a domain's stacks, so that it runs while they are unwound.
 *
 * A copy begins at the stack pointer.  Its length is learned from the stacks unwound
 * before, and it stops at the end of the page in which they ended.  The page that the
 * stack was in at the previous sample is read through its existing mapping, if its
 * page-table entry is unchanged.
 *
 * At first the domain stays paused until its stacks are unwound: what is not in the
 * copy is read from its memory, and nothing is lost.  After a number of copies in a row
 * have sufficed for a vCPU, the domain is resumed as soon as they are made.  A stack
 * that then does not fit is cut, and the domain stays paused again, for much longer.  A
 * guest with stacks of several kinds (user programs, interrupts on stacks of their own)
 * thus has few cut ones.
 */
#ifndef US_BACKEND_XEN_STACKS_H
#define US_BACKEND_XEN_STACKS_H

#include "backend/xen/pages.h"
#include "base/err.h"
#include "guest/paging.h"

#define US_XEN_STACK_MOST 16384 /* bytes of a copy */

/* A page of a stack: valid while pages.n_change and the entry are unchanged. */
struct us_xen_stack_page {
	us_gva va;
	struct us_space space;
	uint32_t change;
	uint64_t entry;
	const uint8_t *entry_at;	     /* NULL: there is none */
	struct us_xen_page *bytes, *entries; /* the page; that of the entry */
};

struct us_xen_stacks {
	struct us_paging paging; /* of the sampler's memory */
	struct us_xen_pages *pages;
	struct us_xen_stack {
		uint8_t *bytes;	 /* owned */
		uint32_t size;	 /* size of the copy, if all of it could be read */
		uint32_t need;	 /* bytes that were needed recently */
		uint32_t streak; /* copies in a row that sufficed ... */
		uint32_t wanted; /* ... and how many must, before copies are trusted */
		us_gva end;	 /* end of this stack, recently; 0: not known */
		us_gva next_end; /* the same, in a shorter time ... */
		unsigned n_end;	 /* ... of so many samples */
		struct us_xen_stack_page page;
	} * vcpu;
	unsigned n;
};

/* mem: the memory that reads through pages. */
US_MUST_CHECK int us_xen_stacks_init(struct us_xen_stacks *s, struct us_mem *mem,
				     struct us_xen_pages *pages, unsigned n_vcpu,
				     struct us_err *e);
void us_xen_stacks_fini(struct us_xen_stacks *s);

/* Hot path, once for each pause: the domain has run since the last one. */
void us_xen_stacks_new_sample(struct us_xen_stacks *s);

/* Copy the stack at regs->sp.  false: the domain must stay paused for this one. */
bool us_xen_stacks_copy(struct us_xen_stacks *s, unsigned vcpu,
			const struct us_regs *regs, struct us_stack_copy *ret);

/* c has been unwound. */
void us_xen_stacks_learn(struct us_xen_stacks *s, unsigned vcpu,
			 const struct us_stack_copy *c);

#endif
