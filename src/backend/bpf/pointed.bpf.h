/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pointed.bpf.h: copy what a per-CPU pointer of the guest leads to (guest/pointed.h).
 */
#ifndef US_BACKEND_BPF_POINTED_H
#define US_BACKEND_BPF_POINTED_H

#include "backend/bpf/guest_memory.bpf.h"

/* The pointer in part n, which was copied earlier; 0: it was not read. */
static __always_inline us_gva pointer_of(const struct us_pointed *p, uint64_t n)
{
	barrier_var(n);
	if (n >= US_POINTED_PARTS || !(p->has >> n & 1))
		return 0;
	return p->part[n][0];
}

/* i is as wide as a register, like n of follow_link(). */
__noinline int copy_words(struct scratch *s, us_gva at, uint64_t i)
{
	if (!s || i >= US_POINTED_PARTS)
		return 0;
	struct us_pointed *p = &s->sample.pointed;
	if (read_words(s, at, p->part[i]))
		p->has |= 1U << (i & 31);
	return 0;
}

static __always_inline void copy_part(struct scratch *s,
				      const struct us_pointed_part *part, unsigned i)
{
	struct us_pointed *p = &s->sample.pointed;
	uint64_t of = part->of;
	us_gva base = of ? pointer_of(p, of - 1) : p->at;
	if (base)
		copy_words(s, base + part->offset, i);
}

/* Called last, because it may change the page tables that the sample's addresses are
 * translated with. */
static __always_inline void copy_pointed(struct scratch *s,
					 const struct us_bpf_guest *g, us_gva at)
{
	struct us_pointed *p = &s->sample.pointed;
	uint32_t number = g->plan.number, n = g->plan.n;
	if (!use_tables_of_plan(s, &g->plan) && !hva_of_page(s, at & ~(PAGE - 1)) &&
	    !use_tables_of_kernel(s))
		return;
	p->has = 0;
	copy_words(s, at, 0);
	if (!p->has)
		return;
	p->at = p->part[0][0];
	p->has = 0;
	for (unsigned i = 0; i < US_POINTED_PARTS; i++)
		if (i < n)
			copy_part(s, &g->plan.part[i], i);
	p->plan = number;
}

#endif
