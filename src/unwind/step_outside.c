/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_outside.c: from the first or last instructions of a kernel's entry to the
 * program, while the processor itself still, or again, has the program's registers.
 *
 * The processor says where the program goes on.  On the way in, the code from the
 * entry's start shows which registers it has already changed, and where it keeps them.
 * On the way out, the code up to the exception's return shows what it restores, and in
 * which page tables.  The result has to be a program: its code and its stack have to be
 * in pages that programs may use.
 */
#include "unwind/walk.h"

/* What the program goes on with. */
struct program {
	struct us_space space;
	us_gva pc, sp;
	uint64_t fp, ra;
	bool ra_known;
};

static bool is_upper_or_kernels(struct us_walk *w, const struct us_space *s, us_gva va)
{
	return us_walk_is_upper(va) || !us_paging_is_user(w->paging, s, va);
}

/* A stack that is still empty begins where its memory ends. */
static bool is_program(struct us_walk *w, const struct program *p)
{
	const struct us_space *s = &p->space;
	uint8_t byte;
	return p->pc % w->u->arch->link->align == 0 &&
	       !is_upper_or_kernels(w, s, p->pc) &&
	       !us_paging_is_data(w->paging, s, p->pc) &&
	       us_paging_read(w->paging, s, p->pc, &byte, 1) &&
	       (!is_upper_or_kernels(w, s, p->sp) ||
		!is_upper_or_kernels(w, s, p->sp - 1));
}

static bool asks(struct us_walk *w, struct us_entered *ret)
{
	struct us_mem *m = w->paging->mem;
	return m->read_entered && m->read_entered(m->ctx, ret) && ret->user;
}

/* Does the code lead from here to an exception's return? */
static bool on_way_out(struct us_walk *w, struct program *ret)
{
	const struct us_walk_arch *a = w->u->arch;
	struct us_link_exit x = { .known = w->known, .space = *w->space };
	struct us_entered at;
	memcpy(x.reg, w->reg, sizeof(x.reg));
	if (!us_sites_exit(w->u->sites, w->pc, &x) || !asks(w, &at))
		return false;
	bool sp_known = a->link->banked_sp || (x.known >> a->sp & 1);
	*ret = (struct program){
		.space = x.space,
		.pc = x.pc_set ? x.pc : at.pc,
		.sp = !a->link->banked_sp ? x.reg[a->sp]
		      : x.sp_set	  ? x.sp
					  : at.sp,
		.fp = x.reg[a->fp],
		.ra = x.reg[a->link->ra],
		.ra_known = x.known >> a->link->ra & 1,
	};
	return sp_known && (x.known >> a->fp & 1) && is_program(w, ret);
}

/* The program's register n, after the entry's code up to here. */
static bool was(struct us_walk *w, const struct us_link_entry *e, unsigned n,
		uint64_t *ret)
{
	if (!(e->changed >> n & 1)) {
		*ret = w->reg[n];
		return true;
	}
	return (e->saved >> n & 1) &&
	       us_paging_read(w->paging, w->space, e->base + 8 * (us_gva)e->at[n], ret,
			      8);
}

/* Does the code lead here from an entry, in the program's own page tables? */
static bool on_way_in(struct us_walk *w, const struct us_site *site,
		      struct program *ret)
{
	const struct us_walk_arch *a = w->u->arch;
	struct us_link_entry e;
	struct us_entered at;
	if (!us_sites_entry(w->u->sites, site, &e) || !asks(w, &at))
		return false;
	*ret = (struct program){ .space = *w->space, .pc = at.pc, .sp = at.sp };
	ret->ra_known = was(w, &e, a->link->ra, &ret->ra);
	return (a->link->banked_sp || was(w, &e, a->sp, &ret->sp)) &&
	       was(w, &e, a->fp, &ret->fp) && is_program(w, ret);
}

/* Has the code from the function's start to here left all three unchanged? */
static bool is_untouched(const struct us_code_rule *r)
{
	return r->base == US_BASE_SP && r->cfa == 0 && r->fp == US_FP_SAME &&
	       r->ra == US_RA_LINK;
}

/* The same for the code from the vector to here. */
static bool is_untouched_since(struct us_walk *w, const struct us_site *site,
			       us_gva vector)
{
	struct us_code_rule rule[2];
	us_gva start = us_site_start(site);
	if (start)
		return start == vector;
	return us_sites_from(w->u->sites, site, vector, rule) == US_REACH_FLOW &&
	       is_untouched(&rule[0]);
}

/* What M-mode has interrupted may have page tables, which M-mode itself has not. */
static const struct us_space *space_of(struct us_walk *w, const struct us_entered *at)
{
	struct us_space *below = &w->u->below;
	return at->below && us_riscv_space_below(w->space, below) ? below : w->space;
}

/* Only the innermost frame has all registers.  If programs have a stack pointer of
 * their own, the kernel's earlier one is not known. */
static bool may_be_in_vector(struct us_walk *w, const struct us_site *site)
{
	const struct us_walk_arch *a = w->u->arch;
	return a->link && !a->link->banked_sp && !(w->flags & US_PC_USER) &&
	       !w->after_call && w->known == UINT32_MAX && !w->paging->stack &&
	       us_site_is_entry(site) &&
	       (!us_site_start(site) || is_untouched(&site->rule[0]));
}

bool us_step_vector(struct us_walk *w, const struct us_site *site, struct us_step *ret)
{
	const struct us_walk_arch *a = w->u->arch;
	struct us_mem *m = w->paging->mem;
	struct us_entered at = { 0 };
	uint8_t byte;
	if (!may_be_in_vector(w, site) || !m->read_entered ||
	    !m->read_entered(m->ctx, &at) || at.pc % a->link->align ||
	    !is_untouched_since(w, site, at.vector))
		return false;
	const struct us_space *s = space_of(w, &at);
	if (!us_paging_read(w->paging, s, at.pc, &byte, 1) ||
	    at.user != us_paging_is_user(w->paging, s, at.pc))
		return false;
	if (s != w->space)
		w->next_space = s;
	*ret = (struct us_step){ .pc = at.pc,
				 .sp = w->reg[a->sp],
				 .fp = w->reg[a->fp],
				 .ra = w->reg[a->link->ra],
				 .sp_known = true,
				 .fp_known = true,
				 .ra_known = true,
				 .exact = true,
				 .flags = at.user ? US_PC_USER : 0,
				 .how = US_HOW_INTERRUPT };
	return true;
}

bool us_step_outside(struct us_walk *w, const struct us_site *site, struct us_step *ret)
{
	struct us_unwinder *u = w->u;
	struct program p;
	/* Only the innermost frame has all registers. */
	if (!u->arch->link || (w->flags & US_PC_USER) || w->after_call ||
	    w->known != UINT32_MAX || !w->paging->mem->read_entered ||
	    w->paging->stack || w->space->mode == US_PAGING_OFF ||
	    (!on_way_out(w, &p) && !on_way_in(w, site, &p)))
		return false;
	*ret = (struct us_step){
		.pc = p.pc,
		.sp = p.sp,
		.fp = p.fp,
		.ra = p.ra,
		.ra_known = p.ra_known && !us_walk_is_upper(p.ra),
		.sp_known = true,
		.fp_known = true,
		.exact = true,
		.flags = US_PC_USER,
		.how = US_HOW_INTERRUPT,
	};
	us_walk_note_program(u, NULL, &p.space);
	u->outside = p.space;
	w->next_space = &u->outside;
	return true;
}
