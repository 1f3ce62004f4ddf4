/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_syscall.c: x86: from the entry of a system call that was made in ring 0 to the
 * code that made it.
 *
 * That code is no caller: no CALL is before the place where it goes on, but a
 * `syscall`.  Only the code of an entry that leaves by a jump there (x86_syscall.c)
 * says where that place is kept.
 */
#include "unwind/walk.h"

static bool is_behind_syscall(struct us_walk *w, const struct us_site *site, us_gva pc)
{
	uint8_t b[2];
	return pc >= sizeof(b) &&
	       us_paging_read(w->paging, w->space, pc - sizeof(b), b, sizeof(b)) &&
	       b[0] == 0x0f && b[1] == 0x05 &&
	       us_site_start(us_sites_find(w->u->sites, pc, false, site)) != pc &&
	       !us_paging_is_data(w->paging, w->space, pc);
}

static bool goes_on_at(struct us_walk *w, const struct us_code_rule *rule, us_gva cfa,
		       us_gva *ret)
{
	if (rule->ra == US_RA_SAVED)
		return us_walk_slot(w, cfa, rule->ra_at, ret);
	if (rule->ra == US_RA_BELOW)
		return us_walk_read(w, cfa - w->word, ret);
	us_trail_leave(w); /* it is not in a word of the stack */
	*ret = w->reg[US_X86_RCX];
	return !w->after_call && us_walk_knows(w, US_X86_RCX);
}

/* Nothing was pushed: the CFA is a word above the stack pointer. */
static bool with_stack(struct us_walk *w, const struct us_code_rule *rule, us_gva cfa,
		       us_gva *ret)
{
	*ret = cfa - w->word;
	if (rule->sp == US_SP_SAVED && !us_walk_slot(w, cfa, rule->sp_at, ret))
		return false;
	return *ret && (*ret > w->reg[US_X86_RSP] || w->n_switch < US_MAX_SWITCHES);
}

bool us_step_syscall(struct us_walk *w, const struct us_site *site, bool led,
		     struct us_step *ret)
{
	const struct us_code_rule *rule = &site->rule[1];
	struct us_entry_frame f = { 0 };
	uint8_t end = w->end;
	us_gva cfa;
	if ((w->flags & US_PC_USER) || !us_site_is_syscall(site) ||
	    rule->unled == led || !us_site_has_start(site))
		return false;
	bool found = us_walk_cfa(w, rule, &cfa) && goes_on_at(w, rule, cfa, &f.pc) &&
		     is_behind_syscall(w, site, f.pc) &&
		     with_stack(w, rule, cfa, &f.sp);
	w->end = end;
	if (!found)
		return false;
	ret->cfa = cfa;
	us_walk_fp(w, rule, ret);
	us_walk_take_entry(w, &f, ret);
	return true;
}
