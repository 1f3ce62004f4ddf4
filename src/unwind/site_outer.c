/* SPDX-License-Identifier: GPL-2.0-or-later */
/* site_outer.c: can a site's function be the outermost of a stack? By its code alone.
 */
#include "unwind/site_priv.h"

bool us_sites_stay(struct us_sites *s, const struct us_code_place *at,
		   const struct us_code_rule start[2])
{
	us_sites_use(s);
	return s->link ? us_link_stays(s->link, at, start)
		       : us_x86_stays(s->flow, at, start);
}

bool us_sites_stays(struct us_sites *s, const struct us_site *site)
{
	struct us_code_place at = us_sites_place(s, site);
	at.start = us_site_start(site);
	return at.start && us_sites_stay(s, &at, site->rule);
}

static enum us_site_outer judge(struct us_sites *s, struct us_code_place *at)
{
	struct us_code_rule start[2] = { 0 }, back;
	if (us_sites_rule_from_any_start(s, at, start) != US_REACH_FLOW)
		return US_OUTER_NO;
	if (start[0].base == US_BASE_OWN)
		return us_sites_stay(s, at, start) ? US_OUTER_OWN : US_OUTER_NO;
	if (start[0].base == US_BASE_NONE || start[0].base == US_BASE_ROOT)
		return US_OUTER_NO;
	if (us_sites_stay(s, at, start))
		return US_OUTER_STAYS;
	enum us_code_exit exit = us_sites_rule_to_return(s, at, &back);
	bool same = us_code_same_base(&back, &start[0]) ||
		    us_code_same_base(&back, &start[1]);
	bool returns = exit == US_EXIT_RET || exit == US_EXIT_BEHIND;
	return returns && same ? US_OUTER_RETURNS : US_OUTER_NO;
}

bool us_sites_certain(struct us_sites *s, const struct us_site *site)
{
	struct us_code_place at = us_sites_place(s, site);
	enum us_site_outer outer = judge(s, &at);
	return outer == US_OUTER_RETURNS || outer == US_OUTER_STAYS;
}

/* It loses its return address: is it what a new thread begins with? */
static enum us_site_outer judge_thread(struct us_sites *s,
				       const struct us_code_place *at)
{
	static const struct us_code_rule start[2];
	bool runs = at->start && us_link_runs(s->link, at) &&
		    us_link_stays(s->link, at, start);
	return runs ? US_OUTER_RUNS : US_OUTER_NO;
}

/* Judge by the code before, wherever the function begins. */
static enum us_site_outer judge_own(struct us_sites *s, const struct us_code_place *at,
				    bool known)
{
	static const struct us_code_rule start[2] = { { .base = US_BASE_OWN } };
	us_gva sp;
	if (!at->after_call)
		return US_OUTER_NO;
	us_sites_use(s);
	if (s->link)
		return judge_thread(s, at);
	switch (us_x86_own_stack(s->flow, at->pc, known ? at->start : 0, &sp)) {
	case US_X86_OWN_AT:
		return us_x86_goes_back(s->flow, at->pc) ? US_OUTER_NO : US_OUTER_AT;
	case US_X86_OWN_SOME:
		return us_x86_stays(s->flow, at, start) ? US_OUTER_OWN : US_OUTER_NO;
	default:
		return US_OUTER_NO;
	}
}

bool us_sites_drops(struct us_sites *s, const struct us_site *site)
{
	struct us_code_place at = us_sites_place(s, site);
	if (!s->link || !at.start || site->after_call)
		return false;
	us_sites_use(s);
	return us_link_drops(s->link, &at);
}

bool us_sites_traps(struct us_sites *s, us_gva pc)
{
	us_sites_use(s);
	return us_x86_traps(s->flow, pc);
}

bool us_sites_saves_all(struct us_sites *s, us_gva start)
{
	us_sites_use(s);
	return !s->link && us_x86_saves_all(s->flow, start);
}

us_gva us_sites_own_sp(struct us_sites *s, const struct us_site *site)
{
	us_gva sp = 0;
	us_x86_own_stack(s->flow, site->pc, 0, &sp);
	return sp;
}

void us_sites_judge(struct us_sites *s, struct us_site *site)
{
	struct us_code_place at = us_sites_place(s, site);
	enum us_site_outer outer = judge(s, &at);
	if (outer == US_OUTER_NO)
		outer = judge_own(s, &at, us_site_has_start(site));
	if (outer != US_OUTER_NO || (at.start && !site->guess))
		site->outer = outer & 7;
	us_sites_doubt(s, site);
}
