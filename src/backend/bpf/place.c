/* SPDX-License-Identifier: GPL-2.0-or-later */
/* place.c: see place.h. */
#include "backend/bpf/place.h"

/* The guest has run since the sample: its program may have ended, and the page tables
 * with it.  As a guest boots, many do so one after the other. */
#define MAX_ASTRAY 64

/* Code that is all zeros is memory that was never written. */
static bool leads_to_code(struct us_mem *mem, const struct us_regs *regs)
{
	struct us_paging p;
	uint8_t code[16];
	uint64_t left = 0;
	us_gpa pa;
	us_paging_init(&p, mem);
	us_paging_new_sample(&p);
	if (!us_paging_translate(&p, &regs->space, regs->pc, &pa, &left))
		return false;
	size_t n = left < sizeof(code) ? (size_t)left : sizeof(code);
	if (!us_mem_read(mem, pa, code, n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (code[i])
			return true;
	return false;
}

/* Without paging any address leads somewhere; an old root may lead astray. */
static bool tells(const struct us_regs *regs)
{
	return regs->space.mode != US_PAGING_OFF &&
	       regs->space.mode != US_PAGING_UNKNOWN && !regs->space_old && regs->bits;
}

bool us_bpf_place_fits(struct us_bpf_place *p, struct us_mem *mem,
		       const struct us_capture *c)
{
	if (p->sure || !tells(&c->regs))
		return true;
	p->sure = c->window.n_window || leads_to_code(mem, &c->regs);
	return p->sure || ++p->n_astray < MAX_ASTRAY;
}
