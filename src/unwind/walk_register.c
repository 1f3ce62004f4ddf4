/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk_register.c: what a register holds in a frame, where only the code of the
 * functions called from there shows it.
 *
 * This is needed where a function keeps its stack pointer in a register while it works
 * on another stack (US_BASE_KEPT).  From that frame inwards, the first function that
 * has saved the register has its value.
 */
#include "unwind/walk.h"

/* What the function's table says of the register; US_SAVE_LOST: not where it was
 * saved. */
static enum us_code_save saved_by_table(const struct us_site *site, unsigned reg,
					int32_t *ret_off)
{
	const struct us_cfi_rule *r = site->cfi.rule;
	for (unsigned i = 0; i < r->n_saved && i < US_CFI_MAX_SAVED; i++) {
		const struct us_cfi_saved *v = &site->cfi.saved[i];
		if (v->reg != reg)
			continue;
		*ret_off = v->off;
		return v->how == US_CFI_AT_CFA ? US_SAVE_CFA : US_SAVE_LOST;
	}
	return r->flags & US_CFI_SIGNAL ? US_SAVE_LOST : US_SAVE_NONE;
}

/* What frame i, which was called or entered from the next, has done with the
 * register. */
static enum us_code_save saved_in(struct us_walk *w, unsigned i, unsigned reg,
				  int32_t *ret_off)
{
	const struct us_stack *out = w->out;
	bool after_call = i && out->how[i] != US_HOW_INTERRUPT;
	bool exit = out->how[i + 1] == US_HOW_INTERRUPT;
	struct us_site *site = us_sites_find(w->u->sites, out->pc[i], after_call,
					     w->site);
	/* Tables of 32-bit code number registers differently, so its code is asked. */
	if (site->source == US_SITE_CFI && w->word == 8)
		return saved_by_table(site, reg, ret_off);
	return us_sites_saved(w->u->sites, site, reg, exit, ret_off);
}

bool us_walk_register(struct us_walk *w, unsigned reg, uint64_t *ret)
{
	const struct us_regs *regs = w->regs;
	/* This depends on the frames before, not on this one alone. */
	us_trail_leave(w);
	*ret = w->reg[reg];
	if (us_walk_knows(w, reg))
		return true;
	for (unsigned i = w->out->n - 1; i-- > w->floor;) {
		int32_t off = 0;
		enum us_code_save save = saved_in(w, i, reg, &off);
		if (save == US_SAVE_NONE)
			continue;
		us_gva cfa = w->u->cfa[i];
		us_gva slot = us_walk_wrap(w, cfa + (us_gva)(int64_t)off);
		return save == US_SAVE_CFA && cfa && !us_walk_is_unwritten(w, slot) &&
		       us_walk_read(w, slot, ret);
	}
	*ret = us_walk_wrap(w, regs->gpr[reg]);
	return w->floor == w->first && (regs->valid >> reg & 1);
}
