/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_switch.c: from a stack that a program used for a while, back to its own.
 *
 * Go's runtime works on a stack of its own (systemstack, mcall, morestack).  The
 * function that switches to it loads the stack pointer from memory, keeps the old one
 * where only the language knows, and leaves the frame pointer alone.  The frame pointer
 * is therefore still the caller's.  Below it, in the caller's frame, is the return
 * address.  It is behind a CALL to this very function, as hardly any other word is.
 */
#include "unwind/walk.h"

#define MAX_FRAME_WORDS 128  /* words of the caller's frame that are searched */
#define SAME_STACK	1024 /* bytes; a nearer frame pointer is of this stack */
#define MAX_TRIES	4    /* of them compared with the code, which is slow */

/* The rule gives no place on the stack in use. */
static bool has_no_place(const struct us_code_rule *r)
{
	return r->base == US_BASE_NONE || r->base == US_BASE_OWN;
}

/* Does the code lead from there to the site, and load the stack pointer on the way? */
static bool switches(struct us_walk *w, const struct us_site *site, us_gva target)
{
	struct us_code_rule rule[2];
	return us_sites_from(w->u->sites, site, target, rule) == US_REACH_FLOW &&
	       has_no_place(&rule[0]) && has_no_place(&rule[1]);
}

/* A direct CALL reaches no further. */
static bool is_near(const struct us_walk *w, us_gva pc)
{
	return pc - w->pc + (1ULL << 31) < 1ULL << 32;
}

static bool find_return(struct us_walk *w, const struct us_site *site, us_gva fp,
			struct us_step *ret)
{
	unsigned tries = 0;
	us_gva target;
	uint64_t word;
	for (unsigned k = 1; k <= MAX_FRAME_WORDS && tries < MAX_TRIES; k++) {
		us_gva at = fp - k * (us_gva)w->word;
		if (!us_walk_read(w, at, &word))
			return false;
		if (!is_near(w, word) ||
		    us_sites_call_before(w->u->sites, word, &target) != US_CALL_DIRECT)
			continue;
		tries++;
		if (!switches(w, site, target))
			continue;
		ret->pc = word;
		ret->cfa = ret->sp = at + w->word;
		return true;
	}
	return false;
}

bool us_step_switch(struct us_walk *w, const struct us_site *site, struct us_step *ret)
{
	const struct us_walk_arch *a = w->u->arch;
	us_gva fp = w->reg[a->fp], sp = w->reg[a->sp];
	if (a->link || w->word != 8 || !w->after_call || !us_walk_knows(w, a->fp) ||
	    !fp || fp % w->word || fp - sp < SAME_STACK ||
	    w->n_switch >= US_MAX_SWITCHES)
		return false;
	*ret = (struct us_step){ .fp = fp,
				 .sp_known = true,
				 .fp_known = true,
				 .framed = true,
				 .how = US_HOW_GUESS,
				 .flags = w->flags };
	if (!find_return(w, site, fp, ret))
		return false;
	ret->call = us_sites_find(w->u->sites, ret->pc, true, site);
	w->n_switch++;
	return true;
}
