/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outermost.c: where a stack ends because nobody called.
 *
 * A thread begins with what its maker put on its stack, a kernel with what its loader
 * left there; and what mret, eret or iret enters finds a return address of another
 * function.  A cut stack is better than a false end: so the rules for the place have to
 * be certain, and what lies there must not be what a CALL leaves.
 */
#include "unwind/walk.h"

#define MAX_PUSHED 24 /* words that an entry may have pushed */

/* Who called a function that never returns may be below what an interrupt pushed, if
 * what was taken for a function is a part of its handler. */
static bool is_below_entry(struct us_walk *w, us_gva slot)
{
	struct us_entry_frame f;
	if (w->u->arch->link)
		return false;
	for (unsigned i = 0; i < MAX_PUSHED; i++)
		if (us_walk_entry_frame(w, slot + i * w->word, &f))
			return true;
	return false;
}

/* Was it entered by the exception return, or the jump to another thread, of a function
 * that was called from there, or that is there?  Then its own return address is that
 * one's. */
static bool is_left_by_exit(struct us_walk *w, const struct us_site *site,
			    struct us_site *at)
{
	struct us_sites *sites = w->u->sites;
	if (at->call != US_CALL_DIRECT || us_site_is_entry(site) ||
	    us_sites_leads(sites, at, site) != US_REACH_NEVER)
		return false;
	us_gva target = us_site_target(at);
	if (at->source != US_SITE_CODE)
		us_sites_analyse(sites, at);
	if (us_site_is_entry(at))
		return true;
	struct us_site *called = us_sites_find(sites, target, false, at);
	if (called->source != US_SITE_CODE)
		us_sites_analyse(sites, called);
	return called->exit == US_EXIT_IRET || called->exit == US_EXIT_SWITCH;
}

/* Nobody returns to v, which lies in the place of the return address. */
static bool is_no_caller(struct us_walk *w, const struct us_site *site, us_gva v)
{
	struct us_sites *sites = w->u->sites;
	bool stays = site->outer == US_OUTER_STAYS;
	us_gva start = us_site_start(site);
	if (v == 0)
		return true;
	struct us_site *at = us_sites_find(sites, v, true, w->site);
	if (at->call != US_CALL_NONE)
		return is_left_by_exit(w, site, at);
	/* Set up so, for when the thread is over; or it was entered by a return to it.
	 */
	if (v == start || us_site_start(us_sites_find(sites, v, false, at)) == v)
		return true;
	return (stays || !w->u->arch->link) && !us_site_is_known(at);
}

/* No memory is there: not in the guest's page tables, whatever the copy holds. */
static bool is_nowhere(struct us_walk *w, us_gva slot)
{
	us_gpa at;
	uint8_t mode = w->space->mode;
	return mode != US_PAGING_UNKNOWN && mode != US_PAGING_OFF &&
	       !us_paging_translate(w->paging, w->space, slot, &at, NULL);
}

/* A table that is trusted knows of the same word, or has no rule for the place; NULL:
 * it could not be read. */
static bool agrees_with_table(struct us_walk *w, const struct us_site *site,
			      const us_gva *word)
{
	struct us_cfi_row row;
	us_gva other;
	if (!us_sites_cfi(w->u->sites, site, &row) || row.untrusted)
		return true;
	if (!us_step_cfi_word(w, row.rule, &other))
		return !word;
	return word && *word == other;
}

static bool slot_says(struct us_walk *w, const struct us_site *site,
		      const struct us_code_rule *rule)
{
	us_gva slot = 0, word;
	bool found = w->u->arch->link ? us_step_link_word(w, rule, &slot, &word)
				      : us_step_code_slot(w, rule, &slot) &&
						us_walk_read(w, slot, &word);
	if (!agrees_with_table(w, site, found ? &word : NULL))
		return false;
	if (!slot)
		return found && is_no_caller(w, site, word); /* in a register */
	if (is_below_entry(w, slot))
		return false;
	return found ? is_no_caller(w, site, word)
		     : site->outer == US_OUTER_STAYS && is_nowhere(w, slot);
}

bool us_walk_is_root(struct us_walk *w, struct us_site *site)
{
	uint8_t end = w->end;
	bool root = false;
	if ((w->flags & US_PC_USER) || us_site_is_entry(site) ||
	    site->source != US_SITE_CODE)
		return false;
	if (site->outer == US_OUTER_NEW)
		us_sites_judge(w->u->sites, site);
	if (site->outer == US_OUTER_OWN)
		return true;
	if (site->outer == US_OUTER_NO)
		return false;
	const struct us_code_rule *rule = site->rule;
	root = slot_says(w, site, &rule[rule[0].base == US_BASE_NONE]);
	w->end = end;
	return root;
}
