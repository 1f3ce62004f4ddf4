/* SPDX-License-Identifier: GPL-2.0-or-later */
/* site.c: see site.h. */
#include "unwind/site_priv.h"

#include "base/search.h"
#include "unwind/code_map.h"
#include "unwind/x86_decode.h"

#include <stdlib.h>
#include <string.h>

#define LAST_GENERATION 63
#define BUDGET		50000	  /* instructions per sample: limits a guest's cost */
#define MAX_FUNCTION	(1 << 20) /* bytes; if it is larger, a symbol is missing */
#define ROOT_MASK	0x000ffffffffff000ULL
#define MAX_JUMPS	4  /* from what boot code calls to what stays */
#define GO_ALIGN	16 /* of Go's functions, at least */
#define IS_UPPER(gva)	((gva) >> 63)

struct us_sites *us_sites_new(const struct us_link_machine *machine)
{
	size_t size = (sizeof(struct us_sites) + 63) & ~(size_t)63;
	struct us_sites *s = aligned_alloc(64, size);
	if (!s)
		return NULL;
	memset(s, 0, size);
	if (machine)
		s->link = us_link_flow_new(machine);
	else
		s->flow = us_x86_flow_new();
	if (!s->flow && !s->link) {
		free(s);
		return NULL;
	}
	s->generation = 1;
	return s;
}

void us_sites_free(struct us_sites *s)
{
	if (!s)
		return;
	us_x86_flow_free(s->flow);
	us_link_flow_free(s->link);
	free(s);
}

/* --- the two ways to follow code --- */

void us_sites_use(struct us_sites *s)
{
	if (s->link)
		us_link_flow_use(s->link, s->paging, s->space);
	else
		us_x86_flow_use(s->flow, s->paging, s->space, s->word);
}

static bool flow_spent(const struct us_sites *s)
{
	return s->link ? us_link_flow_spent(s->link) : us_x86_flow_spent(s->flow);
}

bool us_sites_spent(const struct us_sites *s)
{
	return flow_spent(s);
}

enum us_code_reach us_sites_rule_from_start(struct us_sites *s,
					    const struct us_code_place *at,
					    struct us_code_rule rule[2])
{
	us_sites_use(s);
	return s->link ? us_link_rule_from_start(s->link, at, rule)
		       : us_x86_rule_from_start(s->flow, at, rule);
}

enum us_code_reach us_sites_rule_from_any_start(struct us_sites *s,
						struct us_code_place *at,
						struct us_code_rule rule[2])
{
	us_gva symbol = at->start;
	us_sites_use(s);
	us_gva behind = s->link ? 0 : us_x86_behind_mode_switch(s->flow, at);
	if (behind) {
		at->start = behind;
		enum us_code_reach reach = us_sites_rule_from_start(s, at, rule);
		if (reach > US_REACH_NONE)
			return reach;
	}
	at->start = symbol;
	return symbol ? us_sites_rule_from_start(s, at, rule) : US_REACH_NONE;
}

enum us_code_exit us_sites_rule_to_return(struct us_sites *s,
					  const struct us_code_place *at,
					  struct us_code_rule *rule)
{
	us_sites_use(s);
	return s->link ? us_link_rule_to_return(s->link, at, rule)
		       : us_x86_rule_to_return(s->flow, at, rule);
}

static bool call_before(const struct us_sites *s, us_gva pc, const uint8_t before[8],
			bool *ret_direct, int32_t *ret_imm)
{
	if (!s->link)
		return us_x86_call_before(before, ret_direct, ret_imm);
	const struct us_link_machine *m = us_link_flow_machine(s->link);
	return pc % m->align == 0 && m->call_before(before, ret_direct, ret_imm);
}

void us_sites_set_code(struct us_sites *s, const struct us_code_map *map,
		       const struct us_cfi *cfi)
{
	memset(&s->map, 0, sizeof(s->map));
	if (map)
		s->map = *map;
	s->cfi = cfi;
	if (s->generation++ < LAST_GENERATION)
		return;
	memset(s->site, 0, sizeof(s->site));
	memset(s->save, 0, sizeof(s->save));
	s->generation = 1;
}

void us_sites_share(struct us_sites *s)
{
	s->shared = true;
}

void us_sites_begin(struct us_sites *s, struct us_paging *p,
		    const struct us_space *space, unsigned word)
{
	s->paging = p;
	s->space = space;
	s->word = word;
	us_sites_use(s);
	if (s->link)
		us_link_flow_allow(s->link, BUDGET);
	else
		us_x86_flow_allow(s->flow, BUDGET);
}

void us_sites_narrow(struct us_sites *s)
{
	s->word = 4;
	us_x86_flow_use(s->flow, s->paging, s->space, s->word);
}

/* Find the function that contains pc, in the map of one image.  Of a part of one, the
 * start is 0. */
static bool find_in(const struct us_code_map *m, us_gva pc, struct us_code_place *ret)
{
	us_gva at = pc - m->bias;
	if (m->text_end && (at < m->text_start || at >= m->text_end))
		return false;
	size_t next = us_first_not(m->n, mid, m->start[mid] <= at);
	if (next == 0 || at - m->start[next - 1] > MAX_FUNCTION)
		return false;
	us_gva start = m->start[next - 1],
	       end = next < m->n ? m->start[next] : m->text_end;
	if (end == 0 || end - start > MAX_FUNCTION)
		end = start + MAX_FUNCTION;
	ret->start = us_code_map_is_part(m, start) ? 0 : start + m->bias;
	ret->end = end + m->bias;
	return true;
}

/* end stays 0 if no image has pc. */
static void find_function(const struct us_code_map *m, us_gva pc, us_gpa root,
			  struct us_code_place *ret)
{
	for (; m; m = m->next)
		if ((!m->root || m->root == root) && find_in(m, pc, ret))
			return;
}

bool us_sites_is_inside(const struct us_sites *s, us_gva pc)
{
	struct us_code_place at = { 0 };
	const struct us_code_map *m = &s->map;
	find_function(m, pc, 0, &at);
	while (m && !m->text_end)
		m = m->next;
	return !m || (at.end && at.start != pc);
}

/* The bytes that identify the code: those of the CALL, or at the instruction. */
static bool read_code(const struct us_sites *s, us_gva pc, bool after_call,
		      uint64_t *ret)
{
	us_gva at = after_call && pc >= 8 ? pc - 8 : pc;
	size_t in_page = pc & 4095;
	*ret = 0;
	if (us_paging_is_data(s->paging, s->space, pc - after_call))
		return false;
	if (us_paging_read(s->paging, s->space, at, ret, sizeof(*ret)))
		return true;
	*ret = 0;
	/* The code may begin with this page, and with that CALL. */
	return after_call && at != pc && in_page > 1 && in_page < 8 &&
	       us_paging_read(s->paging, s->space, pc - in_page,
			      (uint8_t *)ret + 8 - in_page, in_page);
}

/* Is there a CALL before pc, and of which kind? */
static enum us_call call_in(const struct us_sites *s, us_gva pc, uint64_t code,
			    int32_t *ret_imm)
{
	uint8_t before[8];
	bool direct;
	memcpy(before, &code, sizeof(before));
	if (pc < 8 || !call_before(s, pc, before, &direct, ret_imm))
		return US_CALL_NONE;
	if (!direct)
		return US_CALL_INDIRECT;
	/* If imm is 0, it may call the function right behind it. */
	bool none = !s->link && *ret_imm &&
		    us_x86_flow_pushes_pc(s->flow, pc, *ret_imm);
	return none ? US_CALL_NONE : US_CALL_DIRECT;
}

/*
 * Where its caller's address would be, a goroutine's first function has the address of
 * the second instruction of runtime.goexit (Go: src/runtime/asm_*.s).  Nothing calls
 * that.
 */
static bool is_goexit(const struct us_sites *s, us_gva pc)
{
	const struct us_link_machine *m = s->link ? us_link_flow_machine(s->link)
						  : NULL;
	us_gva start = pc - (m ? m->align : 1);
	uint8_t code[8];
	if (start % GO_ALIGN || (m && !m->goexit_at) ||
	    !us_paging_read(s->paging, s->space, start, code, sizeof(code)))
		return false;
	return m ? m->goexit_at(code) : us_x86_is_goexit(code);
}

static bool is_context_end(const struct us_sites *s, us_gva pc)
{
	uint8_t code[US_X86_CONTEXT_CODE];
	return !s->link &&
	       us_paging_read(s->paging, s->space, pc, code, sizeof(code)) &&
	       us_x86_ends_context(code);
}

enum us_call us_sites_call_before(struct us_sites *s, us_gva pc, us_gva *ret_target)
{
	uint64_t code;
	int32_t imm;
	*ret_target = 0;
	if (!read_code(s, pc, true, &code))
		return US_CALL_NONE;
	enum us_call call = call_in(s, pc, code, &imm);
	if (call == US_CALL_DIRECT)
		*ret_target = pc + (us_gva)(int64_t)imm;
	if (s->word == 4)
		*ret_target = (uint32_t)*ret_target;
	return call;
}

bool us_sites_named(struct us_sites *s, us_gva pc, us_gva *ret_target)
{
	if (s->link)
		return false;
	us_sites_use(s);
	return us_x86_named_call(s->flow, pc, ret_target);
}

struct us_code_place us_sites_place(const struct us_sites *s,
				    const struct us_site *site)
{
	struct us_code_place at = { .pc = site->pc, .after_call = site->after_call };
	if (site->call == US_CALL_DIRECT)
		at.target = us_site_target(site);
	find_function(&s->map, site->pc - site->after_call, (us_gpa)site->page << 12,
		      &at);
	return at;
}

static bool set_start(struct us_site *site, us_gva start)
{
	int64_t off = (int64_t)(start - site->pc);
	if (!start || off <= INT32_MIN || off > INT32_MAX)
		return false;
	site->start = (int32_t)off;
	return true;
}

static bool is_behind_noreturn(struct us_sites *s, const struct us_site *site)
{
	struct us_code_rule rule[2];
	us_gva target = us_site_target(site);
	struct us_code_place at = { .pc = target, .start = target };
	return site->call == US_CALL_DIRECT &&
	       us_sites_rule_from_start(s, &at, rule) == US_REACH_FLOW &&
	       us_sites_stay(s, &at, rule);
}

void us_sites_analyse(struct us_sites *s, struct us_site *site)
{
	struct us_code_place at = us_sites_place(s, site);
	struct us_code_rule start[2] = { 0 }, back, entry;
	enum us_code_reach reach = us_sites_rule_from_any_start(s, &at, start);

	set_start(site, at.start);
	site->exit = us_sites_rule_to_return(s, &at, &back) & 7;
	bool syscall = !s->link &&
		       us_x86_rule_of_syscall(s->flow, &at, site->exit, start, &entry);
	if (!s->link && site->exit == US_EXIT_NONE)
		us_x86_rule_of_moved(s->flow, &at, start);
	back.unled = reach <= US_REACH_NONE;
	back.stray = back.unled && back.base && is_behind_noreturn(s, site);
	if (!s->link && reach == US_REACH_FLOW && !start[0].base && !start[1].base &&
	    site->exit == US_EXIT_NONE)
		us_x86_rule_of_switch(s->flow, &at, &start[0]);
	us_site_choose(site, reach, start, &back);
	if (syscall) {
		site->exit = US_EXIT_SYSCALL;
		site->rule[1] = entry;
	}
	site->source = US_SITE_CODE;
	us_sites_doubt(s, site);
	if (!s->link && us_x86_flow_is_away(s->flow))
		site->generation = 0; /* another address space may have it */
}

bool us_sites_past_label(struct us_sites *s, struct us_site *site,
			 struct us_code_rule *rule)
{
	struct us_code_place at = us_sites_place(s, site);
	bool none = site->exit == US_EXIT_NONE || site->exit == US_EXIT_LABEL;
	if (site->source != US_SITE_CODE || !none || !at.end)
		return false;
	us_sites_use(s);
	bool leaves = s->link ? us_link_rule_past_label(s->link, &at, rule)
			      : us_x86_rule_past_label(s->flow, &at, rule);
	us_sites_doubt(s, site);
	site->exit = leaves ? US_EXIT_LABEL : US_EXIT_NONE;
	return leaves;
}

static enum us_code_save find_save(struct us_sites *s, const struct us_site *site,
				   unsigned reg, bool exit, int32_t *ret_off)
{
	struct us_code_place at = us_sites_place(s, site);
	if (!at.start && !site->guess)
		at.start = us_site_start(site);
	if (exit && site->exit == US_EXIT_LABEL)
		at.end = 0; /* the way out goes on behind it */
	us_sites_use(s);
	return s->link ? us_link_saved(s->link, &at, reg, exit, ret_off)
		       : us_x86_saved(s->flow, &at, reg, exit, ret_off);
}

enum us_code_save us_sites_saved(struct us_sites *s, const struct us_site *site,
				 unsigned reg, bool exit, int32_t *ret_off)
{
	struct us_site_save want = { .pc = site->pc,
				     .page = site->page,
				     .epoch = s->paging->epoch,
				     .generation = s->generation,
				     .reg = (uint8_t)reg,
				     .after_call = site->after_call,
				     .exit = exit,
				     .narrow = site->narrow };
	struct us_site_save *v =
		&s->save[(site->pc * 0x9e3779b97f4a7c15 >> 32) % US_SITE_SAVES];
	if (v->generation != want.generation || v->pc != want.pc ||
	    v->page != want.page || v->reg != want.reg || v->exit != exit ||
	    v->after_call != want.after_call || v->narrow != want.narrow ||
	    want.epoch - v->epoch >= US_SITE_TRUST) {
		*v = want;
		v->how = find_save(s, site, reg, exit, &v->off) & 3;
		if (flow_spent(s))
			v->generation = 0;
	}
	*ret_off = v->off;
	return v->how;
}

bool us_sites_in_routine(struct us_sites *s, const struct us_site *site, us_gva ra,
			 us_gva *ret_call, us_gva *ret_target)
{
	const struct us_link_machine *m = s->link ? us_link_flow_machine(s->link)
						  : NULL;
	uint8_t before[8];
	int32_t imm;
	*ret_call = *ret_target = 0;
	if (!m || !m->routine_before || site->after_call)
		return false;
	if (ra >= sizeof(before) && ra % m->align == 0 &&
	    us_paging_read(s->paging, s->space, ra - sizeof(before), before,
			   sizeof(before)) &&
	    m->routine_before(before, &imm)) {
		*ret_call = ra - 4;
		*ret_target = ra + (us_gva)(int64_t)imm;
	}
	us_sites_use(s);
	return us_link_flow_in_routine(s->link, site->pc);
}

bool us_sites_entry(struct us_sites *s, const struct us_site *site,
		    struct us_link_entry *ret)
{
	us_gva start = us_site_start(site);
	if (!s->link || !start)
		return false;
	us_sites_use(s);
	return us_link_flow_entry(s->link, start, site->pc, ret);
}

bool us_sites_jump(struct us_sites *s, const struct us_space *space, us_gva start,
		   struct us_link_entry *ret)
{
	const struct us_space *now = s->space;
	if (!s->link || !start)
		return false;
	us_sites_move(s, space);
	bool jumps = us_link_flow_jump(s->link, start, ret);
	us_sites_move(s, now);
	return jumps;
}

bool us_sites_exit(struct us_sites *s, us_gva pc, struct us_link_exit *ret)
{
	us_sites_use(s);
	return s->link && us_link_flow_exit(s->link, pc, ret);
}

bool us_sites_left(struct us_sites *s, us_gva pc, const struct us_site *site,
		   us_gva *ret_to)
{
	struct us_code_rule rule[2];
	if (!s->link)
		return false;
	for (unsigned n = 0; n < MAX_JUMPS; n++) {
		us_sites_use(s);
		if (!us_link_flow_left(s->link, pc, n, ret_to))
			return false;
		if (*ret_to == 0)
			return n == 0;
		if (us_sites_from(s, site, *ret_to, rule) == US_REACH_FLOW)
			return true;
	}
	return false;
}

enum us_link_kept us_sites_kept(struct us_sites *s, const struct us_site *site)
{
	struct us_code_place at = us_sites_place(s, site);
	if (!s->link || !at.start)
		return US_LINK_KEPT_PERHAPS;
	us_sites_use(s);
	return us_link_flow_kept(s->link, &at);
}

void us_sites_move(struct us_sites *s, const struct us_space *space)
{
	s->space = space;
	us_sites_use(s);
}

void us_sites_doubt(const struct us_sites *s, struct us_site *site)
{
	if (flow_spent(s))
		site->generation = 0;
}

bool us_sites_cfi(const struct us_sites *s, const struct us_site *site,
		  struct us_cfi_row *ret)
{
	return s->cfi &&
	       us_cfi_find(s->cfi, s->space->root, site->pc - site->after_call, ret);
}

static bool is_good(const struct us_sites *s, struct us_site *site)
{
	uint64_t code;
	if (s->paging->epoch - site->epoch < US_SITE_TRUST)
		return true;
	if (!read_code(s, site->pc, site->after_call, &code) || code != site->code)
		return false;
	site->epoch = s->paging->epoch;
	return true;
}

/* The code's page in memory, if nothing is known of it in its address space; else
 * root. */
static us_gpa page_or_root(const struct us_sites *s, us_gva at, us_gpa root)
{
	struct us_code_place place = { 0 };
	struct us_cfi_row row;
	us_gpa pa;
	find_function(&s->map, at, root, &place);
	if (place.end || (s->cfi && us_cfi_find(s->cfi, s->space->root, at, &row)) ||
	    !us_paging_translate(s->paging, s->space, at, &pa, NULL))
		return root;
	return pa & ROOT_MASK;
}

static uint64_t hash(us_gva pc, bool after_call, us_gpa root)
{
	return ((pc << 1 | after_call) ^ root << 20) * 0x9e3779b97f4a7c15;
}

/* Choose the one to replace: an unused one, else the one compared longest ago. */
static unsigned victim(const struct us_sites *s, const struct us_site set[US_SITE_WAYS],
		       const struct us_site *keep)
{
	uint32_t age = 0, now = s->paging->epoch;
	unsigned oldest = keep == &set[0];
	for (unsigned i = 0; i < US_SITE_WAYS; i++) {
		if (keep == &set[i])
			continue;
		if (set[i].generation != s->generation)
			return i;
		if (now - set[i].epoch > age) {
			age = now - set[i].epoch;
			oldest = i;
		}
	}
	return oldest;
}

static void fill(struct us_sites *s, struct us_site *site)
{
	struct us_code_place at = us_sites_place(s, site);
	struct us_cfi_row row;
	int32_t imm = 0;

	if (!read_code(s, site->pc, site->after_call, &site->code))
		site->generation = 0; /* another address space may have it */
	site->start = US_SITE_NO_START;
	set_start(site, at.start);
	if (site->after_call) {
		site->at_start = at.start && site->pc == at.end;
		site->call = call_in(s, site->pc, site->code, &imm) & 3;
		site->target = imm;
		if (site->call == US_CALL_NONE &&
		    (is_goexit(s, site->pc) || is_context_end(s, site->pc)))
			site->call = US_CALL_OUTERMOST;
	}
	if (!us_sites_cfi(s, site, &row) || row.word != s->word)
		return;
	if (row.untrusted) {
		site->doubtful = true;
		return;
	}
	if (at.start || !at.end) /* not a part, that the map knows better */
		set_start(site, row.start);
	site->source = US_SITE_CFI;
	site->cfi.rule = row.rule;
	site->cfi.saved = row.saved;
}

struct us_site *us_sites_find(struct us_sites *s, us_gva pc, bool after_call,
			      const struct us_site *keep)
{
	bool any = IS_UPPER(pc) || s->space->mode == US_PAGING_OFF;
	us_gpa root = any ? 0 : s->space->root & ROOT_MASK;
	if (s->shared && !IS_UPPER(pc))
		root = page_or_root(s, pc - after_call, root);
	uint64_t key = hash(pc, after_call, root);
	uint16_t tag = (uint16_t)(key >> 32);
	struct us_site *set = s->site[key >> (64 - US_SITE_SET_BITS)];
	uint16_t *tags = s->tag[key >> (64 - US_SITE_SET_BITS)];
	for (unsigned i = 0; i < US_SITE_WAYS; i++) {
		struct us_site *site = &set[i];
		if (tags[i] == tag && site->pc == pc &&
		    site->after_call == after_call &&
		    site->generation == s->generation && site->page == root >> 12 &&
		    site->narrow == (s->word == 4) && is_good(s, site))
			return site;
	}
	unsigned i = victim(s, set, keep);
	tags[i] = tag;
	set[i] = (struct us_site){ .pc = pc,
				   .page = root >> 12,
				   .generation = s->generation & LAST_GENERATION,
				   .after_call = after_call,
				   .narrow = s->word == 4,
				   .epoch = s->paging->epoch };
	fill(s, &set[i]);
	return &set[i];
}

enum us_code_reach us_sites_from(struct us_sites *s, const struct us_site *site,
				 us_gva start, struct us_code_rule rule[2])
{
	struct us_code_place at = { .pc = site->pc,
				    .after_call = site->after_call,
				    .start = start,
				    .map = &s->map,
				    .root = (us_gpa)site->page << 12 };
	return us_sites_rule_from_start(s, &at, rule);
}

void us_sites_starts(struct us_sites *s, const struct us_site *site, unsigned range,
		     struct us_code_starts *ret)
{
	us_sites_use(s);
	if (s->link)
		us_link_starts(s->link, site->pc, range, ret);
	else
		us_x86_starts(s->flow, site->pc, range, ret);
}

/* Only an exception may lead to what was split off its function. */
static bool is_landed_in(const struct us_sites *s, const struct us_site *site)
{
	struct us_cfi_row row;
	return site->source == US_SITE_CFI && us_sites_cfi(s, site, &row) &&
	       !row.start && row.rule->flags & US_CFI_LANDS;
}

bool us_sites_is_traced(const struct us_sites *s, us_gva start)
{
	const struct us_link_machine *m = s->link ? us_link_flow_machine(s->link)
						  : NULL;
	uint8_t code[8];
	if ((m && !m->traced_at) ||
	    !us_paging_read(s->paging, s->space, start, code, sizeof(code)))
		return false;
	return m ? m->traced_at(code) : us_x86_begins_with_call(code);
}

enum us_code_reach us_sites_leads(struct us_sites *s, struct us_site *call,
				  const struct us_site *callee)
{
	/* A learned start is that of one caller; another may come by a jump. */
	us_gva start = callee->tried ? 0 : us_site_start(callee);
	us_gva to = start ? start : callee->pc;
	us_gva target = us_site_target(call);
	int64_t distance = (int64_t)(to - target);
	struct us_code_rule rule[2];
	struct us_code_place at = { .pc = to,
				    .start = target,
				    .map = &s->map,
				    .root = (us_gpa)call->page << 12 };

	if (call->leads_to && call->leads_to == distance)
		return call->leads;
	at.after_call = !start && callee->after_call;
	enum us_code_reach leads = us_sites_rule_from_start(s, &at, rule);
	if (leads == US_REACH_NEVER && start) { /* to what is behind the start? */
		at.pc = callee->pc;
		at.after_call = callee->after_call;
		leads = us_sites_rule_from_start(s, &at, rule);
	}
	if (leads == US_REACH_NEVER && is_landed_in(s, callee))
		leads = US_REACH_NONE;
	if (flow_spent(s) || distance > INT32_MAX || distance < INT32_MIN)
		return leads;
	call->leads = leads & 3;
	call->leads_to = (int32_t)distance;
	return leads;
}

void us_sites_learn(struct us_site *site, us_gva start,
		    const struct us_code_rule rule[2])
{
	struct us_code_rule old = site->rule[0];
	set_start(site, start);
	if (us_site_keeps_back(site, rule, &old))
		return;
	site->rule[0] = rule[0];
	if (us_site_is_entry(site) || us_site_is_syscall(site))
		return;
	site->rule[1] = rule[1];
	if (old.base && !us_code_same_base(&old, &rule[0]) &&
	    !us_code_same_base(&old, &rule[1]))
		site->rule[1] = old;
}
