/* SPDX-License-Identifier: GPL-2.0-or-later */
/* space_aarch64.bpf.h: the address space of a sample on arm64: that of EL1 and EL0. */
#ifndef US_BACKEND_BPF_SPACE_AARCH64_H
#define US_BACKEND_BPF_SPACE_AARCH64_H

#include "backend/bpf/scratch.bpf.h"
#include "guest/page_table_aarch64.h"

#define SCTLR_M	     1
#define ENTRY_MOVING US_AARCH64_MOVING

static __always_inline void set_space(struct scratch *s)
{
	const struct us_bpf_aarch64 *r = &s->sample.arm;
	s->mode = r->sctlr & SCTLR_M ? US_PAGING_AARCH64 : US_PAGING_OFF;
	s->control = r->tcr;
	s->root = us_aarch64_root(r->ttbr0, r->tcr, false);
	s->root_upper = us_aarch64_root(r->ttbr1, r->tcr, true);
}

/* Their address depends on the kernel's image. */
static __always_inline bool use_tables_of_kernel(struct scratch *s)
{
	return false;
}

/* Whoever made the plan knows that image.  The sample's own tables may be those of a
 * program (page-table isolation), or outdated. */
static __always_inline bool use_tables_of_plan(struct scratch *s,
					       const struct us_pointed_plan *plan)
{
	uint64_t root = plan->root_upper;
	if (root)
		s->root_upper = root;
	return root;
}

/* Identifies translations of this address: the table and, in bits that no table's
 * address uses, how its half is split. */
static __always_inline uint64_t root_of(const struct scratch *s, us_gva va)
{
	bool upper = us_aarch64_is_upper(va);
	uint64_t tcr = s->control;
	uint64_t cut = us_aarch64_tcr_bits(tcr, upper) << 5 |
		       us_aarch64_page_bits(tcr, upper);
	return (upper ? s->root_upper : s->root) ^ cut << 52;
}

static __always_inline uint32_t entry_size(const struct scratch *s)
{
	return 8;
}

static __always_inline bool may_hold_code(uint64_t entry)
{
	return !(entry >> 53 & 1); /* PXN */
}

static __always_inline bool walk_tables(void *ctx, us_read_entry *read,
					const struct scratch *s, us_gva va,
					struct us_page_leaf *ret)
{
	us_gpa root = us_aarch64_is_upper(va) ? s->root_upper : s->root;
	return us_aarch64_page_walk(ctx, read, s->control, root, va, ret);
}

#endif
