/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_label.c: the way out of an entry that goes on behind a label.  Entries are
 * written in assembly, and what restores the registers often has a name of its own: to
 * the map it is another function, into which the CALL of the handler would never
 * return.
 */
#include "unwind/walk.h"

/* In a kernel without page tables any word leads to memory; its code is known. */
static bool is_likely(struct us_walk *w, const struct us_site *site,
		      const struct us_step *s)
{
	return (s->flags & US_PC_USER) ||
	       us_site_is_known(us_sites_find(w->u->sites, s->pc, false, site));
}

bool us_step_label(struct us_walk *w, struct us_site *site, struct us_step *ret)
{
	struct us_code_rule rule;
	const struct us_space *next_space = w->next_space;
	uint8_t end = w->end, n_switch = w->n_switch;
	if ((w->flags & US_PC_USER) || !us_sites_past_label(w->u->sites, site, &rule))
		return false;
	struct us_site entry = *site; /* in this sample only: the next asks again */
	entry.exit = US_EXIT_IRET;
	entry.rule[1] = rule;
	bool found = w->u->arch->link ? us_step_link_cross(w, &entry, ret)
		     : rule.base      ? us_step_by_exit(w, &rule, ret)
				      : us_step_cross(w, &entry, ret);
	if (found && is_likely(w, site, ret))
		return true;
	w->end = end;
	w->n_switch = n_switch;
	w->next_space = next_space;
	return false;
}

/* At its start an entry has the interrupted pc where a function has its return address.
 * It may be right behind a CALL that could have led here. */
static bool is_interrupted(struct us_walk *w, const struct us_site *site,
			   const struct us_step *s)
{
	struct us_entry_frame f;
	return !w->u->arch->link && !w->after_call && !s->led &&
	       s->how == US_HOW_CODE && site->source == US_SITE_CODE &&
	       us_walk_entry_frame(w, s->cfa - w->word, &f) && f.pc == s->pc &&
	       ((f.flags & US_PC_USER) || us_walk_is_in_place(w, &f));
}

void us_step_label_instead(struct us_walk *w, struct us_site *site, struct us_step *s)
{
	struct us_step interrupted;
	interrupted.moved = false;
	if (is_interrupted(w, site, s) && us_step_label(w, site, &interrupted))
		*s = interrupted;
}
