/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_entry.c: x86: from a kernel's entry whose code does not show a way back to what
 * it interrupted.
 *
 * Small kernels push the registers, go to a stack of their own and call a handler that
 * does not return: another function restores the registers, perhaps of another thread.
 * But the entry's code may have kept the first stack's pointer, in a register that
 * functions preserve or on the new stack.  From its start it tells where that pointed
 * when it began, and what the processor pushed is there.  Nothing but its contents
 * tells that it is no caller's frame; therefore all of it has to fit.  In 32-bit code
 * that is less, so the entry has to be one that leaves by iret.
 */
#include "unwind/walk.h"

#define PUSHED_BEFORE 2	 /* words: an error code; a vector, by what jumped here */
#define PUSHED_ALIGN  16 /* of the top of the frame (Intel SDM volume 3, 6.14.2) */

static bool is_users(struct us_walk *w, us_gva va)
{
	return us_paging_is_user(w->paging, w->space, va);
}

static bool is_code(struct us_walk *w, us_gva pc)
{
	uint8_t byte;
	return pc && us_paging_read(w->paging, w->space, pc, &byte, 1) &&
	       !us_paging_is_data(w->paging, w->space, pc);
}

/* The kernel's code has to be known, and to go on right above the frame.  moved: or on
 * another stack, as the processor may load one of its own (IST). */
static bool is_likely(struct us_walk *w, const struct us_entry_frame *f, bool moved)
{
	uint64_t word;
	if ((w->word == 8 && f->top % PUSHED_ALIGN) || !is_code(w, f->pc))
		return false;
	if (f->flags & US_PC_USER)
		return is_users(w, f->pc) && f->sp && is_users(w, f->sp - 1);
	return (moved ? us_walk_read(w, f->sp, &word) : us_walk_is_in_place(w, f)) &&
	       us_site_is_known(us_sites_find(w->u->sites, f->pc, false, w->site));
}

/* What called a part of an entry is not passed over. */
static bool find_frame(struct us_walk *w, us_gva at, bool moved,
		       struct us_entry_frame *ret)
{
	us_gva target;
	uint64_t word;
	for (unsigned i = 0; i <= PUSHED_BEFORE; i++, at += w->word) {
		if (us_walk_entry_frame(w, at, ret) && is_likely(w, ret, moved))
			return true;
		if (!us_walk_read(w, at, &word) ||
		    us_sites_call_before(w->u->sites, word, &target) != US_CALL_NONE)
			return false;
	}
	return false;
}

/* It is on another stack now.  Boot code does not know the old one; what calls a
 * handler that stays on the interrupted stack may be boot code as well. */
static bool is_away(const struct us_site *site, const struct us_code_rule *rule)
{
	/* Its way out goes back to where it began, by a register that it has kept. */
	if (us_site_is_entry(site) && site->rule[1].base == US_BASE_NONE)
		return true;
	return rule->base == US_BASE_KEPT || rule->base == US_BASE_WORD ||
	       rule->base == US_BASE_WORD_WORD ||
	       (rule->base == US_BASE_FP && rule->sp == US_SP_LOST);
}

static bool by_rule(struct us_walk *w, const struct us_code_rule *rule, bool moved,
		    struct us_step *ret)
{
	struct us_entry_frame f;
	us_gva cfa;
	if (rule->unled || !us_walk_cfa(w, rule, &cfa) ||
	    !find_frame(w, cfa - w->word, moved, &f))
		return false;
	ret->cfa = cfa;
	us_walk_fp(w, rule, ret);
	us_walk_take_entry(w, &f, ret);
	ret->cfa = cfa;
	return true;
}

bool us_step_entered(struct us_walk *w, const struct us_site *site, struct us_step *ret)
{
	const struct us_code_rule *rule = &site->rule[0];
	uint8_t end = w->end;
	bool here = rule->base == US_BASE_SP ||
		    (rule->base == US_BASE_FP && rule->sp == US_SP_CFA);
	if (w->word != 8 || w->after_call || !us_site_has_start(site) || !here ||
	    site->rule[1].base != US_BASE_NONE || w->n_switch >= US_MAX_SWITCHES)
		return false;
	bool found = by_rule(w, rule, true, ret);
	w->end = end;
	return found;
}

bool us_step_entry(struct us_walk *w, const struct us_site *site, struct us_step *ret)
{
	uint8_t end = w->end;
	bool other = us_site_is_entry(site) || us_site_is_syscall(site);
	bool sure = w->word == 8 || us_site_is_entry(site);
	if (w->u->arch->link || !sure || (w->flags & US_PC_USER) ||
	    site->source != US_SITE_CODE || !us_site_has_start(site) ||
	    w->n_switch >= US_MAX_SWITCHES)
		return false;
	const struct us_code_rule *rule = site->rule;
	bool found = (is_away(site, &rule[0]) && by_rule(w, &rule[0], false, ret)) ||
		     (!other && is_away(site, &rule[1]) &&
		      by_rule(w, &rule[1], false, ret));
	w->end = end;
	return found;
}
