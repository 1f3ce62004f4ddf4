/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_routine.c: from a routine that saves registers for its caller, and returns
 * through a register of its own (RISC-V: gcc -msave-restore), to that caller.
 *
 * Everywhere else the routine counts as a part of its caller, which has no frame before
 * the routine returns.  The step goes to the caller's CALL, where all is as when the
 * caller was entered.
 */
#include "unwind/walk.h"

/* How the routine found things, according to its code up to here. */
static bool rule_of(struct us_walk *w, const struct us_site *site, us_gva target,
		    struct us_code_rule *ret)
{
	struct us_code_rule rule[2];
	if (us_sites_from(w->u->sites, site, target, rule) != US_REACH_FLOW)
		return false;
	*ret = rule[0];
	return ret->base == US_BASE_SP &&
	       (ret->ra == US_RA_LINK || ret->ra == US_RA_SAVED);
}

static bool go_to_call(struct us_walk *w, const struct us_site *site, us_gva call,
		       us_gva target, struct us_step *ret)
{
	const struct us_walk_arch *a = w->u->arch;
	struct us_code_rule rule;
	if (!us_walk_knows(w, a->sp) || !rule_of(w, site, target, &rule))
		return false;
	us_trail_leave(w); /* it is not in a word of the stack */
	ret->pc = call;
	ret->cfa = ret->sp = w->reg[a->sp] + (us_gva)(int64_t)rule.cfa;
	ret->fp = w->reg[a->fp];
	ret->fp_known = rule.fp == US_FP_SAME && us_walk_knows(w, a->fp);
	ret->ra = w->reg[a->link->ra];
	ret->ra_known = rule.ra == US_RA_LINK && us_walk_knows(w, a->link->ra);
	if (rule.ra == US_RA_SAVED)
		ret->ra_known = us_walk_slot(w, ret->cfa, rule.ra_at, &ret->ra);
	ret->sp_known = ret->exact = true;
	ret->framed = ret->strong = ret->led = ret->narrow = false;
	ret->call = NULL;
	ret->rule = NULL;
	ret->flags = w->flags;
	ret->how = US_HOW_CODE;
	return true;
}

bool us_step_routine(struct us_walk *w, const struct us_site *site, bool *ret_found,
		     struct us_step *ret)
{
	const struct us_link_machine *m = w->u->arch->link;
	us_gva call, target;
	*ret_found = false;
	if (!m || !m->routine_before || w->after_call)
		return false;
	bool known = us_walk_knows(w, m->routine);
	us_gva ra = known ? w->reg[m->routine] : 0;
	if (!us_sites_in_routine(w->u->sites, site, ra, &call, &target))
		return false;
	*ret_found = call && go_to_call(w, site, call, target, ret);
	w->end = US_END_NO_RULE;
	return call || !known;
}
