/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step_code.c: one step with the rules from the code itself; the frame pointer comes
 * last. */
#include "unwind/walk.h"

#define PROLOGUE_WORDS 2  /* on the stack: the return address, and rbp */
#define MAX_SCAN       32 /* words of the stack looked at when there is no rule */
#define MAX_TRIES      4  /* of them compared with the code, which is slow */

/* The registers that gcc aligns a stack with; 32-bit code has others for this. */
static uint8_t r10_of(const struct us_walk *w)
{
	return w->word == 4 ? US_X86_RCX : US_X86_R10;
}

static uint8_t r13_of(const struct us_walk *w)
{
	return w->word == 4 ? US_X86_RDI : US_X86_R13;
}

/* Stacks grow downwards, so callers are above, and not far. */
static bool is_above(const struct us_walk *w, us_gva cfa)
{
	us_gva sp = w->reg[US_X86_RSP];
	return cfa > sp && cfa - sp <= US_MAX_FRAME_SIZE;
}

/* The code has switched to another stack for what it calls.  This is allowed a few
 * times in one walk: stacks may lead in a circle. */
static bool may_switch(const struct us_walk *w, const struct us_code_rule *rule)
{
	bool away = rule->base == US_BASE_WORD || rule->base == US_BASE_WORD_WORD ||
		    rule->base == US_BASE_KEPT ||
		    (rule->base == US_BASE_FP && rule->sp == US_SP_LOST);
	return away && w->n_switch < US_MAX_SWITCHES;
}

/* The value that the CFA is counted from. */
static bool base_of(struct us_walk *w, const struct us_code_rule *rule, us_gva *ret)
{
	const uint8_t base[] = {
		[US_BASE_SP] = US_X86_RSP,   [US_BASE_FP] = US_X86_RBP,
		[US_BASE_R10] = r10_of(w),   [US_BASE_R13] = r13_of(w),
		[US_BASE_WORD] = US_X86_RSP, [US_BASE_WORD_WORD] = US_X86_RSP
	};
	if (rule->base == US_BASE_KEPT)
		return us_walk_register(w, rule->base_reg, ret);
	if (rule->base == US_BASE_POPPED) {
		*ret = w->reg[US_X86_RSP];
		return us_walk_knows(w, US_X86_RSP);
	}
	if (rule->base == US_BASE_NONE || rule->base >= US_BASE_ROOT ||
	    !us_walk_knows(w, base[rule->base]))
		return false;
	*ret = w->reg[base[rule->base]];
	bool word = rule->base == US_BASE_WORD || rule->base == US_BASE_WORD_WORD;
	if (word && !us_walk_slot(w, *ret, rule->sp_at, ret))
		return false;
	return rule->base != US_BASE_WORD_WORD ||
	       us_walk_read(w, *ret + 8U * rule->base_at, ret);
}

/* The code goes on to leave more on the stack than it found there, and to return. */
static bool moves_down(const struct us_code_rule *rule)
{
	return rule->base == US_BASE_SP && rule->cfa <= 0 &&
	       (rule->ra == US_RA_SAVED || rule->ra == US_RA_KEPT);
}

static bool may_move(const struct us_walk *w, const struct us_code_rule *rule)
{
	return moves_down(rule) && !w->after_call && w->n_switch < US_MAX_SWITCHES;
}

bool us_walk_cfa(struct us_walk *w, const struct us_code_rule *rule, us_gva *ret)
{
	us_gva base;
	if (!base_of(w, rule, &base))
		return false;
	*ret = us_walk_wrap(w, base + (us_gva)(int64_t)rule->cfa);
	if (is_above(w, *ret) || may_switch(w, rule) || may_move(w, rule) ||
	    rule->base == US_BASE_POPPED)
		return true;
	if (*ret <= w->reg[US_X86_RSP])
		w->end = US_END_CYCLE;
	return false;
}

bool us_walk_slot(struct us_walk *w, us_gva cfa, int16_t slot, uint64_t *ret)
{
	return us_walk_read(w, cfa + (us_gva)(int64_t)us_code_slot_offset(slot), ret);
}

bool us_step_code_slot(struct us_walk *w, const struct us_code_rule *rule, us_gva *ret)
{
	us_gva cfa;
	if (rule->base == US_BASE_POPPED || rule->ra != US_RA_BELOW ||
	    !us_walk_cfa(w, rule, &cfa))
		return false;
	*ret = us_walk_wrap(w, cfa - w->word);
	return true;
}

/* The caller's rsp.  It is above the CFA if the stack was aligned.  If it is not known,
 * the CFA is still a lower bound for all that follows. */
static void restore_sp(struct us_walk *w, const struct us_code_rule *rule,
		       struct us_step *ret)
{
	us_gva sp = ret->cfa;
	bool known = true;
	if (rule->sp == US_SP_SAVED)
		known = us_walk_slot(w, ret->cfa, rule->sp_at, &sp);
	if (rule->sp == US_SP_R10 || rule->sp == US_SP_R13) {
		unsigned reg = rule->sp == US_SP_R10 ? r10_of(w) : r13_of(w);
		known = us_walk_knows(w, reg);
		sp = w->reg[reg];
	}
	ret->sp_known = known && sp >= ret->cfa && sp - ret->cfa < US_MAX_FRAME_SIZE;
	ret->sp = ret->sp_known ? sp : ret->cfa;
}

void us_walk_fp(struct us_walk *w, const struct us_code_rule *rule, struct us_step *ret)
{
	ret->fp = w->reg[US_X86_RBP];
	us_gva slot = ret->cfa + (us_gva)(int64_t)us_code_slot_offset(rule->fp_at);
	bool saved = rule->fp == US_FP_SAVED && !us_walk_is_unwritten(w, slot);
	ret->fp_known = us_walk_knows(w, US_X86_RBP) && rule->fp != US_FP_LOST;
	if (saved)
		ret->fp_known = us_walk_slot(w, ret->cfa, rule->fp_at, &ret->fp);
	ret->framed = rule->base == US_BASE_FP;
}

/* The caller's code is gone, and a table says that stacks begin there.  A word that was
 * only found on the stack is not enough for that. */
static bool is_gone(const struct us_site *site, const struct us_step *s)
{
	return us_walk_is_outermost(s) && s->call->call == US_CALL_NONE &&
	       us_walk_may_be_behind(s) && us_site_is_known(site) && !site->guess;
}

static bool read_return(struct us_walk *w, const struct us_code_rule *rule, us_gva cfa,
			us_gva *ret)
{
	bool kept = rule->ra == US_RA_KEPT;
	if (kept || rule->ra == US_RA_SAVED || rule->base == US_BASE_POPPED)
		us_trail_leave(w); /* it is not in the word of the stack */
	if (rule->ra == US_RA_SAVED)
		return us_walk_slot(w, cfa, rule->ra_at, ret);
	if (rule->base != US_BASE_POPPED && !kept)
		return us_walk_read(w, cfa - w->word, ret);
	unsigned reg = kept ? rule->from : rule->base_reg % US_MAX_GPR;
	*ret = w->reg[reg];
	return !w->after_call && us_walk_knows(w, reg);
}

/* What its way on to the return stores is not on the stack yet. */
static void note_unwritten(struct us_walk *w, const struct us_step *s)
{
	w->unwritten = s->cfa;
	w->written = w->reg[US_X86_RSP];
}

/* Apply a rule; true if there is a return address behind a CALL. */
static bool try_rule(struct us_walk *w, const struct us_site *site,
		     const struct us_code_rule *rule, struct us_step *ret)
{
	w->end = rule->base == US_BASE_ROOT ? US_END_ROOT : US_END_NO_RULE;
	if (rule->ra == US_RA_GONE || !us_walk_cfa(w, rule, &ret->cfa))
		return false;
	if (!read_return(w, rule, ret->cfa, &ret->pc)) {
		if (rule->ra != US_RA_KEPT)
			w->end = US_END_FAULT;
		return false;
	}
	if (ret->pc == 0 && !moves_down(rule) &&
	    us_walk_ends_by_zero(w, site, rule, ret->cfa - w->word))
		w->end = US_END_ROOT;
	ret->exact = false;
	if (ret->pc == 0 ||
	    (!us_walk_is_caller(w, site, ret) && !is_gone(site, ret) &&
	     !us_walk_begins_thread(w, ret) && !us_walk_is_signal(w, ret)))
		return false;
	/* Only a CALL to the very start of such code is certain to be its caller. */
	if (moves_down(rule) && !ret->strong)
		return false;
	w->n_switch += !is_above(w, ret->cfa);
	restore_sp(w, rule, ret);
	us_walk_fp(w, rule, ret);
	ret->moved = site->rule[0].ra != US_RA_BELOW;
	if (moves_down(rule))
		note_unwritten(w, ret);
	ret->rule = NULL;
	ret->narrow = false;
	ret->flags = w->flags;
	ret->how = site->guess		      ? US_HOW_GUESS
		   : rule->base == US_BASE_FP ? US_HOW_FP
					      : US_HOW_CODE;
	return true;
}

static bool try_rules(struct us_walk *w, const struct us_site *site,
		      struct us_step *ret)
{
	return us_walk_try_rules(w, site, try_rule, ret);
}

/*
 * The start of the site's function is in doubt.  If the code leads here from the target
 * of a CALL, that is the start, and the rule from there is the better one.  But it has
 * to give the CFA at which that CALL was found (at; 0: any).  A word that was only
 * found on the stack needs a path without gaps: behind an indirect jump, the code may
 * be another function's.
 */
static bool learn_start(struct us_walk *w, struct us_site *site, us_gva target,
			us_gva at)
{
	struct us_code_rule rule[2];
	us_gva cfa;
	enum us_code_reach reach = us_sites_from(w->u->sites, site, target, rule);
	if (reach <= US_REACH_NONE || (at && reach != US_REACH_FLOW))
		return false;
	if (rule[0].ra != US_RA_BELOW || !us_walk_cfa(w, &rule[0], &cfa) ||
	    (at && cfa != at))
		return false;
	site->guess = at != 0;
	us_sites_learn(site, target, rule);
	return true;
}

static bool try_slot(struct us_walk *w, struct us_site *site, us_gva cfa,
		     unsigned *tries)
{
	uint64_t word;
	us_gva target;
	if (!us_walk_read(w, cfa - w->word, &word) || word == 0)
		return false;
	enum us_call call = us_sites_call_before(w->u->sites, word, &target);
	bool named = call == US_CALL_DIRECT ||
		     (call == US_CALL_INDIRECT &&
		      us_sites_named(w->u->sites, word, &target));
	if (!named)
		return false;
	++*tries;
	return learn_start(w, site, target, cfa);
}

/* No rule holds.  The CALL before it may still confirm the return address beside the
 * frame pointer, or another word on the stack. */
static bool scan(struct us_walk *w, struct us_site *site)
{
	us_gva sp = w->reg[US_X86_RSP], fp = w->reg[US_X86_RBP];
	unsigned tries = 0;
	bool framed = us_walk_knows(w, US_X86_RBP) && fp >= sp &&
		      fp - sp < US_MAX_FRAME_SIZE;
	/* In a prologue rbp is the caller's, so its frame would fit as well. */
	unsigned i = 1;
	for (; i <= PROLOGUE_WORDS; i++)
		if (try_slot(w, site, sp + w->word * i, &tries))
			return true;
	if (framed && try_slot(w, site, fp + 2 * w->word, &tries))
		return true;
	for (; i <= MAX_SCAN && tries < MAX_TRIES; i++)
		if (try_slot(w, site, sp + w->word * i, &tries))
			return true;
	return false;
}

bool us_step_code(struct us_walk *w, struct us_site *site, struct us_step *ret)
{
	const struct us_code_rule frame = {
		.cfa = 2 * w->word,
		.fp_at = (int16_t)-w->word, /* 2 words, in words of 4 bytes, times 2 */
		.base = US_BASE_FP,
		.fp = US_FP_SAVED,
	};
	bool ok = try_rules(w, site, ret);
	uint8_t end = w->end;

	if (ok && (us_site_start(site) || site->tried || !ret->direct))
		return true;
	bool popped = site->rule[0].base == US_BASE_POPPED;
	if (!site->tried && !popped && site->rule[0].base != US_BASE_ROOT) {
		site->tried = true;
		if (ok && learn_start(w, site, ret->target, 0)) {
			us_sites_doubt(w->u->sites, site);
			return try_rules(w, site, ret);
		}
		if (!ok && scan(w, site))
			ok = try_rules(w, site, ret);
		us_sites_doubt(w->u->sites, site);
	}
	if (!ok && w->after_call && site->rule[0].base == US_BASE_NONE &&
	    w->reg[US_X86_RBP])
		ok = try_rule(w, site, &frame, ret);
	w->end = end;
	return ok;
}
