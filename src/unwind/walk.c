/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk.c: reads the stack in windows, and checks whether a return address is one. */
#include "unwind/walk.h"

#define BELOW 128 /* bytes of a window below the word: saved registers */

static bool fill_window(struct us_walk *w, us_gva va)
{
	struct us_unwinder *u = w->u;
	us_gva page = va & ~4095ULL, from = va - page > BELOW ? va - BELOW : page;
	size_t len = page + 4096 - from;
	u->window_len = len < US_STACK_WINDOW ? len : US_STACK_WINDOW;
	u->window = from;
	if (us_paging_read(w->paging, w->space, from, u->bytes, u->window_len))
		return true;
	/* The backend may have less of the page than that. */
	u->window = va;
	u->window_len = w->word;
	if (us_paging_read(w->paging, w->space, va, u->bytes, w->word))
		return true;
	u->window_len = 0;
	return false;
}

bool us_walk_fetch(struct us_walk *w, us_gva va, uint64_t *ret)
{
	struct us_stack_copy *copy = w->paging->stack;
	*ret = 0;
	if (copy && us_stack_copy_read(copy, va, ret, w->word)) {
		us_trail_read(&w->u->trails.use, va, w->word);
		return true;
	}
	if (copy && !copy->held) {
		us_trail_missed(w, va);
		return false;
	}
	if (va > UINT64_MAX - 8 || !fill_window(w, va))
		return false;
	if (w->u->window_len - (va - w->u->window) >= w->word)
		return us_walk_read(w, va, ret);
	*ret = 0; /* over a page border */
	return us_paging_read(w->paging, w->space, va, ret, w->word);
}

/* The CALL is through a register: does its value lead to the site? */
static void take_name(struct us_walk *w, const struct us_site *site, struct us_step *s)
{
	struct us_site *call = s->call;
	us_gva start = us_site_start(site), to;
	if (call->target == 0) {
		bool named = us_sites_named(w->u->sites, s->pc, &to) &&
			     (int32_t)(to - s->pc) == (int64_t)(to - s->pc);
		call->target = named ? (int32_t)(to - s->pc) : US_SITE_NO_NAME;
	}
	if (call->target == US_SITE_NO_NAME)
		return;
	to = us_site_target(call);
	s->strong = start && to == start;
	s->led = s->strong || us_sites_leads(w->u->sites, call, site) >= US_REACH_TABLE;
	s->direct = s->led;
	s->target = s->led ? to : 0;
}

/* The function that was called may have gone on in another, as if that had been called:
 * so Linux replaces functions with what a live patch has for them. */
static bool is_replaced(const struct us_walk *w, const struct us_step *s)
{
	return !(w->flags & US_PC_USER) && us_sites_is_traced(w->u->sites, s->target);
}

bool us_walk_is_caller(struct us_walk *w, const struct us_site *site, struct us_step *s)
{
	struct us_sites *sites = w->u->sites;
	struct us_site *call = us_sites_find(sites, s->pc, true, w->site);
	us_gva start = us_site_start(site);
	s->call = call;
	s->direct = call->call == US_CALL_DIRECT;
	s->target = s->direct ? us_site_target(call) : 0;
	s->strong = s->direct && start && s->target == start;
	s->led = s->strong || call->call == US_CALL_OUTERMOST;
	if (s->led || call->call == US_CALL_NONE)
		return s->led;
	/* Code that ends in iret is entered by an interrupt.  A thread that has not run
	 * yet has the start of a function in the place of a return address; but the
	 * code that switches to it calls nobody any more. */
	bool begins = call->at_start &&
		      (s->direct || (!w->after_call && !us_sites_certain(sites, site)));
	if (us_site_is_entry(site) || begins)
		return false;
	/* A CALL elsewhere can still lead here, by jumps at the end of functions. */
	if (!s->direct) {
		take_name(w, site, s);
		return true;
	}
	enum us_code_reach reach = us_sites_leads(sites, call, site);
	s->led = reach >= US_REACH_TABLE;
	return reach != US_REACH_NEVER || is_replaced(w, s);
}

bool us_walk_is_outermost(const struct us_step *s)
{
	return s->call->source == US_SITE_CFI && s->call->cfi.rule->pc == US_CFI_LOST;
}

/* Behind a CALL that is the last instruction of its function, the next function
 * begins. */
bool us_walk_may_be_behind(const struct us_step *s)
{
	return !s->call->at_start ||
	       (us_walk_is_outermost(s) && s->call->cfi.rule->flags & US_CFI_GONE);
}

bool us_walk_begins_thread(struct us_walk *w, struct us_step *s)
{
	const struct us_site *at = us_sites_find(w->u->sites, s->pc, false, w->site);
	s->exact = us_site_start(at) == s->pc && at->source == US_SITE_CFI &&
		   at->cfi.rule->pc == US_CFI_LOST &&
		   !(at->cfi.rule->flags & US_CFI_GONE);
	return s->exact;
}

bool us_walk_try_rules(struct us_walk *w, const struct us_site *site,
		       us_try_rule *try_rule, struct us_step *ret)
{
	struct us_step other;
	other.moved = false;
	bool first = try_rule(w, site, &site->rule[0], ret);
	uint8_t end = w->end;
	if (first && ret->strong)
		return true;
	bool second = site->rule[1].base != US_BASE_NONE && !us_site_is_entry(site) &&
		      !us_site_is_syscall(site) &&
		      try_rule(w, site, &site->rule[1], &other);
	w->end = end;
	if (second && (!first || other.strong))
		*ret = other;
	return first || second;
}
