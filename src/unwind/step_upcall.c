/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_upcall.c: from a function that was made to run in the middle of another one, as
 * signal handlers are, to what that one was about to run.
 *
 * An interrupt's handler has pushed the interrupted address on the interrupted stack,
 * and has gone on at the function instead.  It saves all registers, as no CALL has led
 * to it, and returns to that address.
 */
#include "unwind/walk.h"

/* A known place in the middle of a function; or its first instruction, if it was called
 * and not yet run, or made to run as this one.  A thread may have the address of a
 * function there as well, for when it is over. */
static bool is_interrupted(struct us_walk *w, us_gva self, us_gva pc, us_gva sp)
{
	struct us_sites *sites = w->u->sites;
	const struct us_site *at = us_sites_find(sites, pc, false, w->site);
	us_gva start = us_site_start(at), target;
	uint64_t word;
	if (!start || us_paging_is_data(w->paging, w->space, pc))
		return false;
	return start != pc || pc == self ||
	       (us_walk_read(w, sp, &word) &&
		us_sites_call_before(sites, word, &target));
}

static bool is_upcall(struct us_walk *w, const struct us_site *site)
{
	/* On an aligned stack, the way out alone does not show that it returns. */
	bool returns = site->exit == US_EXIT_RET || site->exit == US_EXIT_BEHIND ||
		       site->exit == US_EXIT_NONE;
	return w->u->arch->link == NULL && !(w->flags & US_PC_USER) &&
	       site->source == US_SITE_CODE && returns && us_site_has_start(site) &&
	       us_sites_saves_all(w->u->sites, us_site_start(site));
}

bool us_step_upcall(struct us_walk *w, const struct us_site *site, struct us_step *ret)
{
	const struct us_code_rule *rule =
		&site->rule[site->rule[0].base == US_BASE_NONE];
	struct us_entry_frame f = { .flags = w->flags };
	us_gva slot = 0;
	uint8_t end = w->end;
	bool found = is_upcall(w, site) && !rule->unled &&
		     us_step_code_slot(w, rule, &slot) && us_walk_read(w, slot, &f.pc);
	w->end = end;
	f.sp = slot + w->word;
	if (!found || !is_interrupted(w, us_site_start(site), f.pc, f.sp))
		return false;
	ret->cfa = f.sp;
	us_walk_fp(w, rule, ret);
	us_walk_take_entry(w, &f, ret);
	ret->cfa = f.sp;
	return true;
}
