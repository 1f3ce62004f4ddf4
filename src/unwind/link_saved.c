/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_saved.c: where functions have saved a register, with a link register. */
#include "unwind/link_flow.h"
#include "unwind/link_rule.h"

void us_link_kept_at(const struct us_link_flow *f, const struct us_link_state *st,
		     struct us_code_rule *ret)
{
	for (uint8_t i = 0; i < US_LINK_N_REG; i++) {
		if (!(f->machine->preserved >> i & 1) || st->reg[i].sym != US_LSYM_SP ||
		    st->reg[i].off > INT32_MAX || st->reg[i].off <= INT32_MIN)
			continue;
		ret->base = US_BASE_KEPT;
		ret->base_reg = i;
		ret->cfa = (int32_t)-st->reg[i].off;
		return;
	}
}

static bool is_wanted(const struct us_link_flow *f, const struct us_link_state *st)
{
	struct us_link_value v = st->reg[f->want];
	return v.sym == US_LSYM_REG && v.off == f->want;
}

static enum us_code_save save_in(struct us_link_value v, int64_t cfa, int32_t *ret_off)
{
	int64_t off = v.off - cfa;
	*ret_off = (int32_t)off;
	return *ret_off == off ? US_SAVE_CFA : US_SAVE_LOST;
}

bool us_link_word_rule(const struct us_link_flow *f, const struct us_link_state *st,
		       struct us_link_value pc, struct us_code_rule *ret)
{
	struct us_link_value fp = st->reg[f->machine->fp], sp = st->reg[f->machine->sp];
	int64_t words = sp.off / 8;
	if (pc.sym != US_LSYM_MEM_SP || sp.off % 8 || words < 0 || words > UINT8_MAX ||
	    pc.off < 0 || !us_code_slot(pc.off, &ret->ra_at))
		return false;
	ret->base = US_BASE_WORD;
	ret->base_at = (uint8_t)words;
	ret->ra = US_RA_NEAR;
	if (fp.sym == US_LSYM_FP && fp.off == 0)
		ret->fp = US_FP_SAME;
	return true;
}

/* Is all as when the function was entered?  That is so before a jump that replaces a
 * call and a return. */
static bool is_as_entered(const struct us_link_flow *f, const struct us_link_state *st)
{
	struct us_link_value sp = st->reg[f->machine->sp];
	return sp.sym == US_LSYM_SP && sp.off == 0 &&
	       st->reg[f->machine->ra].sym == US_LSYM_RA;
}

void us_link_note_table(struct us_link_flow *f, const struct us_link_state *st)
{
	if (!f->has_table || is_as_entered(f, &f->table))
		f->table = *st;
	f->has_table = true;
}

static enum us_code_save saved_from_start(struct us_link_flow *f,
					  const struct us_code_place *at,
					  int32_t *ret_off)
{
	struct us_code_rule rule[2];
	if (!at->start || us_link_rule_from_start(f, at, rule) != US_REACH_FLOW)
		return US_SAVE_LOST;
	if (is_wanted(f, &f->arrived))
		return US_SAVE_NONE;
	struct us_link_value v = f->arrived.want_saved;
	return v.sym == US_LSYM_SP ? save_in(v, 0, ret_off) : US_SAVE_LOST;
}

/* Is a word that was counted from SP counted from the same base as the rule's CFA? */
static bool counts_from_sp(const struct us_code_rule *rule)
{
	return rule->base == US_BASE_SP || rule->base == US_BASE_EXIT_KEPT ||
	       rule->base == US_BASE_EXIT_WORD;
}

/* The way out as us_sites_analyse() finds it, with what leads to the place. */
static bool exits(struct us_link_flow *f, const struct us_code_place *at,
		  struct us_code_rule *ret)
{
	struct us_code_rule start[2];
	if (at->start)
		us_link_rule_from_start(f, at, start);
	return us_link_rule_to_return(f, at, ret) == US_EXIT_IRET;
}

/* The handler restores it. */
static enum us_code_save saved_by_exit(struct us_link_flow *f,
				       const struct us_code_place *at, int32_t *ret_off)
{
	struct us_code_rule rule;
	struct us_link_value v;
	if (!exits(f, at, &rule))
		return US_SAVE_LOST;
	if (is_wanted(f, &f->left))
		return US_SAVE_NONE;
	v = f->left.reg[f->want];
	return v.sym == US_LSYM_MEM_SP && counts_from_sp(&rule) &&
			       !us_link_state_is_new(&f->left, v)
		       ? save_in(v, rule.cfa, ret_off)
		       : US_SAVE_LOST;
}

static enum us_code_save state_by_exit(struct us_link_flow *f,
				       const struct us_code_place *at, int32_t *ret_off)
{
	struct us_code_rule rule;
	if (!exits(f, at, &rule))
		return US_SAVE_LOST;
	struct us_link_value v = f->left.exit_state;
	bool there = (counts_from_sp(&rule) && v.sym == US_LSYM_MEM_SP) ||
		     (rule.base == US_BASE_FP && v.sym == US_LSYM_MEM_FP);
	return there && !us_link_state_is_new(&f->left, v)
		       ? save_in(v, rule.cfa, ret_off)
		       : US_SAVE_LOST;
}

enum us_code_save us_link_saved(struct us_link_flow *f, const struct us_code_place *at,
				unsigned reg, bool exit, int32_t *ret_off)
{
	enum us_code_save save = US_SAVE_LOST;
	if (reg == US_LINK_STATE && exit)
		return state_by_exit(f, at, ret_off);
	if (reg >= US_LINK_N_REG)
		return save;
	f->want = (uint8_t)reg;
	save = exit ? saved_by_exit(f, at, ret_off) : saved_from_start(f, at, ret_off);
	f->want = US_LINK_NO_REG;
	/* The way out begins with what the CALL has left. */
	if (save == US_SAVE_NONE && exit && at->after_call &&
	    !(f->machine->preserved >> reg & 1))
		save = US_SAVE_LOST;
	/* Forget the path: it was followed with f->want set. */
	f->place = (struct us_code_place){ 0 };
	return f->path.budget ? save : US_SAVE_LOST;
}
