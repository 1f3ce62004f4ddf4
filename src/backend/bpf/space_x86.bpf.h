/* SPDX-License-Identifier: GPL-2.0-or-later */
/* space_x86.bpf.h: the address space of a sample on x86. */
#ifndef US_BACKEND_BPF_SPACE_X86_H
#define US_BACKEND_BPF_SPACE_X86_H

#include "backend/bpf/scratch.bpf.h"
#include "guest/page_table_x86.h"

#define CR4_PAE	     (1ULL << 5)
#define CR4_LA57     (1ULL << 12)
#define ENTRY_MOVING US_X86_MOVING

static __always_inline uint32_t mode_of(const struct us_bpf_sample *l)
{
	if (!(l->cr0 & US_BPF_CR0_PG))
		return US_PAGING_OFF;
	if (l->efer & US_BPF_EFER_LMA)
		return l->cr4 & CR4_LA57 ? US_PAGING_X86_5 : US_PAGING_X86_4;
	return l->cr4 & CR4_PAE ? US_PAGING_X86_PAE : US_PAGING_X86_32;
}

static __always_inline void set_space(struct scratch *s)
{
	s->mode = mode_of(&s->sample);
	s->root = us_x86_root(s->mode, s->sample.cr3);
}

/* With page-table isolation, user mode's root is the page after the kernel's: use the
 * kernel's.  false: the root is not user mode's. */
static __always_inline bool use_tables_of_kernel(struct scratch *s)
{
	if (s->mode != US_PAGING_X86_4 && s->mode != US_PAGING_X86_5)
		return false;
	if (!(s->root & US_ROOT_OF_USER))
		return false;
	s->root &= ~(us_gpa)US_ROOT_OF_USER;
	return true;
}

/* The sample's own tables are good enough. */
static __always_inline bool use_tables_of_plan(struct scratch *s,
					       const struct us_pointed_plan *plan)
{
	return false;
}

/* Identifies translations of this address. */
static __always_inline uint64_t root_of(const struct scratch *s, us_gva va)
{
	return s->root;
}

static __always_inline uint32_t entry_size(const struct scratch *s)
{
	return s->mode == US_PAGING_X86_32 ? 4 : 8;
}

/* Only the last entry counts, although the tables above it may forbid execution too. */
static __always_inline bool may_hold_code(uint64_t entry)
{
	return !(entry >> 63); /* XD */
}

static __always_inline bool walk_tables(void *ctx, us_read_entry *read,
					const struct scratch *s, us_gva va,
					struct us_page_leaf *ret)
{
	return us_x86_page_walk(ctx, read, s->mode, s->root, va, ret);
}

#endif
