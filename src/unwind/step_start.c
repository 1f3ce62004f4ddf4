/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_start.c: the caller of a function that never returns and that no symbol names.
 *
 * Nothing shows the caller of a program's main that ends in exit(), or of a function
 * that is called by pointer and stays: no return, no CALL that says where it begins,
 * and in stripped programs no symbol and no table.  But functions take room on the
 * stack soon after they begin, and what is right before them leads elsewhere.  From
 * each such place the code is followed; the word that it gives as the return address
 * has to be one.
 */
#include "unwind/walk.h"

#define FIRST_RANGE 256 /* bytes of code searched first */
#define MORE	    4
#define CALL_ALIGN  16 /* of the stack at each CALL: System V psABI, AAPCS64, RISC-V */

/* A false start takes too little room.  Then the word is another one, and hardly ever
 * behind a CALL of this function, or behind a CALL by pointer with the stack aligned.
 * In 32-bit code of kernels the stack need not be aligned. */
static bool is_confirmed(const struct us_walk *w, const struct us_step *s)
{
	return s->led || (!s->direct && w->word == 8 && s->cfa % CALL_ALIGN == 0);
}

/* It was entered by a return to its own start.  With a link register, this is how code
 * that takes a stack goes on there.  A start that was guessed is then a true one. */
static bool is_entered_by_return(struct us_walk *w, const struct us_code_rule *rule,
				 us_gva start)
{
	us_gva slot, word;
	return w->u->arch->link && us_step_link_word(w, rule, &slot, &word) &&
	       word == start;
}

/* Does the function of other, whose start is a guess, stay for good, and could the CALL
 * before word not lead to it? */
static bool is_left_for_good(struct us_walk *w, const struct us_site *other,
			     us_gva word)
{
	struct us_site *at = us_sites_find(w->u->sites, word, true, w->site);
	return us_sites_stays(w->u->sites, other) &&
	       us_sites_leads(w->u->sites, at, other) == US_REACH_NEVER;
}

/* The same for a jump behind a CALL of another: it certainly begins where that leads.
 * other: the site, with a start that leads to it. */
static bool is_entered_by_jump(struct us_walk *w, struct us_site *site,
			       const struct us_site *other)
{
	const struct us_code_rule *rule = other->rule;
	struct us_code_rule from[2];
	us_gva slot, word, again, to, target;
	struct us_sites *s = w->u->sites;
	if (!w->u->arch->link ||
	    !us_step_link_word(w, us_step_link_rule(w, rule), &slot, &word) ||
	    us_sites_call_before(s, word, &target) != US_CALL_DIRECT ||
	    !us_sites_left(s, word, site, &to) ||
	    (!to && !is_left_for_good(w, other, word)))
		return false;
	us_gva start = to ? to : us_site_start(other);
	if (us_sites_from(s, site, start, from) != US_REACH_FLOW ||
	    !us_step_link_word(w, us_step_link_rule(w, from), &slot, &again) ||
	    again != word)
		return false;
	us_sites_learn(site, start, from);
	site->guess = false;
	site->outer = US_OUTER_JUMP;
	return true;
}

static bool try_start(struct us_walk *w, struct us_site *site, us_gva start,
		      struct us_step *ret, bool *ret_leads)
{
	struct us_code_rule rule[2];
	struct us_site other = *site;
	*ret_leads = us_sites_from(w->u->sites, site, start, rule) == US_REACH_FLOW &&
		     rule[0].base != US_BASE_NONE && rule[0].base < US_BASE_ROOT;
	/* The link register says nothing about the room that was taken before. */
	if (!*ret_leads || (w->u->arch->link && rule[0].ra != US_RA_SAVED))
		return *ret_leads = false;
	other.rule[0] = rule[0];
	other.rule[1] = rule[1];
	us_sites_learn(&other, start, rule);
	other.tried = other.guess = true;
	bool found = w->u->arch->link ? us_step_link(w, &other, ret)
				      : us_step_code(w, &other, ret);
	if (!found && is_entered_by_return(w, rule, start)) {
		site->outer = US_OUTER_OWN;
		return false;
	}
	if (!found && is_entered_by_jump(w, site, &other))
		return false;
	if (!found || !is_confirmed(w, ret))
		return false;
	*site = other;
	return true;
}

/* Only a function that has made a CALL has certainly taken room.  A leaf may have none,
 * and would be taken for a part of the function before it. */
static bool is_unknown(const struct us_walk *w, const struct us_site *site)
{
	return w->after_call && !us_site_has_start(site) &&
	       site->outer == US_OUTER_NEW && site->source == US_SITE_CODE &&
	       !us_site_is_entry(site) &&
	       (us_walk_knows(w, w->u->arch->sp) ||
		(w->u->arch->link && us_walk_knows(w, w->u->arch->fp)));
}

/* The nearest start that leads here, of those that were not tried before. */
static bool try_range(struct us_walk *w, struct us_site *site, unsigned range,
		      struct us_step *ret, bool *ret_leads)
{
	struct us_code_starts starts;
	us_gva seen = w->pc - (range > FIRST_RANGE ? range / MORE : 0);
	us_sites_starts(w->u->sites, site, range, &starts);
	for (unsigned i = 0; i < starts.n; i++) {
		if (starts.pc[i] > seen)
			continue;
		if (try_start(w, site, starts.pc[i], ret, ret_leads))
			return true;
		if ((*ret_leads && starts.sure[i]) || site->outer != US_OUTER_NEW)
			return false;
		*ret_leads = false;
	}
	return false;
}

bool us_step_start(struct us_walk *w, struct us_site *site, struct us_step *ret)
{
	uint8_t end = w->end;
	bool found = false, leads = false;
	if (!is_unknown(w, site))
		return false;
	for (unsigned range = FIRST_RANGE;
	     range <= US_CODE_MAX_RANGE && !found && !leads; range *= MORE)
		found = try_range(w, site, range, ret, &leads);
	if (site->outer == US_OUTER_NEW)
		site->outer = US_OUTER_NO; /* no start was found */
	us_sites_doubt(w->u->sites, site);
	w->end = end;
	return found;
}
