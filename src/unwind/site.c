/* SPDX-License-Identifier: GPL-2.0-or-later */
/* site.c: see site.h. */
#include "unwind/site.h"

#include "unwind/x86_decode.h"

#include <stdlib.h>
#include <string.h>

#define N_SITES	      4096
#define BUDGET	      50000 /* instructions a sample: bounds what a guest can cost */
#define MAX_FUNCTION  (1 << 20) /* bytes; beyond, a symbol is missing */
#define ROOT_MASK     0x000ffffffffff000ULL
#define IS_UPPER(gva) ((gva) >> 63)

struct us_sites {
	struct us_code_map map;
	struct us_x86_flow *flow;
	struct us_site site[N_SITES];
};

struct us_sites *us_sites_new(const struct us_code_map *map)
{
	struct us_sites *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->flow = us_x86_flow_new();
	if (!s->flow) {
		free(s);
		return NULL;
	}
	us_sites_set_map(s, map);
	return s;
}

void us_sites_free(struct us_sites *s)
{
	if (!s)
		return;
	us_x86_flow_free(s->flow);
	free(s);
}

void us_sites_set_map(struct us_sites *s, const struct us_code_map *map)
{
	memset(&s->map, 0, sizeof(s->map));
	if (map)
		s->map = *map;
	memset(s->site, 0, sizeof(s->site));
}

void us_sites_begin(struct us_sites *s)
{
	us_x86_flow_allow(s->flow, BUDGET);
}

/* Find the function that pc is in; start and end stay 0 if it is not known. */
static void find_function(const struct us_code_map *m, us_gva pc,
			  struct us_x86_place *ret)
{
	size_t lo = 0, hi = m->n;
	if (m->text_end && (pc < m->text_start || pc >= m->text_end))
		return;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (m->start[mid] <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || pc - m->start[lo - 1] > MAX_FUNCTION)
		return;
	ret->start = m->start[lo - 1];
	ret->end = lo < m->n ? m->start[lo] : m->text_end;
	if (ret->end == 0 || ret->end - ret->start > MAX_FUNCTION)
		ret->end = ret->start + MAX_FUNCTION;
}

enum us_call us_sites_call_before(struct us_paging *p, const struct us_space *space,
				  us_gva pc, us_gva *ret_target)
{
	uint8_t before[8];
	int32_t imm;
	bool direct;
	*ret_target = 0;
	if (pc < 8 || !us_paging_read(p, space, pc - 8, before, 8) ||
	    !us_x86_call_before(before, &direct, &imm))
		return US_CALL_NONE;
	if (!direct)
		return US_CALL_INDIRECT;
	*ret_target = pc + (us_gva)(int64_t)imm;
	return US_CALL_DIRECT;
}

static bool agrees(const struct us_x86_rule *a, const struct us_x86_rule *b)
{
	return a->base == b->base && a->cfa == b->cfa;
}

/* Choose among the rules from the start and the one to the return. */
static void choose(struct us_site *site, enum us_x86_reach reach,
		   const struct us_x86_rule start[2], const struct us_x86_rule *back)
{
	bool differ = back->base && !agrees(back, &start[0]) &&
		      !agrees(back, &start[1]);
	if (reach <= US_REACH_NONE) {
		site->rule[0] = *back;
		return;
	}
	site->rule[0] = start[0];
	site->rule[1] = differ ? *back : start[1];
	if (start[0].base == US_BASE_NONE) {
		site->rule[0] = *back;
		site->rule[1] = start[1];
	} else if (differ && reach == US_REACH_TABLE && site->exit == US_EXIT_RET) {
		site->rule[0] = *back;
		site->rule[1] = start[0];
	}
}

static struct us_x86_place place_of(const struct us_sites *s,
				    const struct us_site *site)
{
	struct us_x86_place at = { .pc = site->pc, .after_call = site->after_call };
	find_function(&s->map, site->pc - site->after_call, &at);
	return at;
}

static void analyse(struct us_sites *s, struct us_paging *p,
		    const struct us_space *space, struct us_site *site)
{
	struct us_x86_place at = place_of(s, site);
	struct us_x86_rule start[2] = { 0 }, back;
	enum us_x86_reach reach = US_REACH_NONE;

	site->start = at.start;
	site->at_start = at.after_call && at.pc == at.end && at.start;
	us_x86_flow_use(s->flow, p, space);
	if (at.start)
		reach = us_x86_rule_from_start(s->flow, &at, start);
	us_x86_flow_use(s->flow, p, space);
	site->exit = us_x86_rule_to_return(s->flow, &at, &back);
	choose(site, reach, start, &back);
}

/* The bytes that decided: of the CALL, or at the instruction. */
static bool read_code(struct us_paging *p, const struct us_space *space, us_gva pc,
		      bool after_call, uint64_t *ret)
{
	us_gva at = after_call && pc >= 8 ? pc - 8 : pc;
	if (us_paging_read(p, space, at, ret, sizeof(*ret)))
		return true;
	*ret = 0;
	return false;
}

static bool is_good(struct us_site *site, struct us_paging *p,
		    const struct us_space *space)
{
	uint64_t code;
	if (p->epoch - site->epoch < US_SITE_TRUST)
		return true;
	if (!read_code(p, space, site->pc, site->after_call, &code) ||
	    code != site->code)
		return false;
	site->epoch = p->epoch;
	return true;
}

static struct us_site *slot_of(struct us_sites *s, us_gva pc, bool after_call)
{
	uint64_t key = (pc << 1 | after_call) * 0x9e3779b97f4a7c15;
	return &s->site[key >> 52];
}

const struct us_site *us_sites_find(struct us_sites *s, struct us_paging *p,
				    const struct us_space *space, us_gva pc,
				    bool after_call)
{
	struct us_site *site = slot_of(s, pc, after_call);
	us_gpa root = IS_UPPER(pc) ? 0 : space->root & ROOT_MASK;
	if (site->valid && site->pc == pc && site->after_call == after_call &&
	    site->root == root && is_good(site, p, space))
		return site;
	*site = (struct us_site){ .pc = pc,
				  .root = root,
				  .after_call = after_call,
				  .valid = true,
				  .epoch = p->epoch };
	read_code(p, space, pc, after_call, &site->code);
	if (after_call)
		site->call = us_sites_call_before(p, space, pc, &site->target);
	if (!after_call || site->call != US_CALL_NONE)
		analyse(s, p, space, site);
	site->valid = !us_x86_flow_spent(s->flow);
	return site;
}

enum us_x86_reach us_sites_from(struct us_sites *s, struct us_paging *p,
				const struct us_space *space,
				const struct us_site *site, us_gva start,
				struct us_x86_rule rule[2])
{
	struct us_x86_place at = { .pc = site->pc,
				   .after_call = site->after_call,
				   .start = start };
	us_x86_flow_use(s->flow, p, space);
	return us_x86_rule_from_start(s->flow, &at, rule);
}

bool us_sites_leads(struct us_sites *s, struct us_paging *p,
		    const struct us_space *space, us_gva call,
		    const struct us_site *callee)
{
	struct us_site *site = slot_of(s, call, true);
	us_gva to = callee->start ? callee->start : callee->pc;
	struct us_x86_rule rule[2];
	struct us_x86_place at = { .pc = to, .start = site->target };

	if (site->pc != call || !site->after_call)
		return false;
	if (site->leads_to == to)
		return site->leads;
	at.after_call = !callee->start && callee->after_call;
	us_x86_flow_use(s->flow, p, space);
	enum us_x86_reach reach = us_x86_rule_from_start(s->flow, &at, rule);
	site->leads = reach != US_REACH_NEVER;
	if (!us_x86_flow_spent(s->flow))
		site->leads_to = to;
	return site->leads;
}

/* Remember the copy, if its slot has not got another site since. */
static void write_back(struct us_sites *s, const struct us_site *site)
{
	struct us_site *slot = slot_of(s, site->pc, site->after_call);
	if (slot->valid && slot->pc == site->pc &&
	    slot->after_call == site->after_call && slot->root == site->root)
		*slot = *site;
}

void us_sites_learn(struct us_sites *s, struct us_site *site, us_gva start,
		    const struct us_x86_rule rule[2])
{
	struct us_x86_rule old = site->rule[0];
	site->start = start;
	site->rule[0] = rule[0];
	site->rule[1] = rule[1];
	if (old.base && !agrees(&old, &rule[0]) && !agrees(&old, &rule[1]))
		site->rule[1] = old;
	write_back(s, site);
}

void us_sites_tried(struct us_sites *s, struct us_site *site)
{
	site->tried = true;
	if (!us_x86_flow_spent(s->flow))
		write_back(s, site);
}
