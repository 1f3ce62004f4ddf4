/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_away.c: the way out of a handler that runs on a stack of its own, back to the
 * stack that the exception's frame is on.
 *
 * The frame cannot be counted from the stack pointer at the place.  Before it changed
 * stacks, the handler has kept the old stack pointer: in a register that functions
 * preserve, or in a word of the new stack (Zephyr).  From there on, the state's SP
 * stands for that.
 */
#include "unwind/link_flow.h"
#include "unwind/link_rule.h"

bool us_link_has_arrived(const struct us_link_flow *f, const struct us_code_place *at)
{
	return at->start && f->place.start == at->start && f->place.pc == at->pc &&
	       f->place.after_call == at->after_call;
}

/* Has the path from the start, which came to the place, an address of the first stack
 * in this register? */
static bool keeps_address(const struct us_link_flow *f, unsigned reg)
{
	const struct us_link_machine *m = f->machine;
	struct us_link_value v = f->arrived.reg[reg];
	return reg != m->sp && reg != m->fp && (m->preserved >> reg & 1) &&
	       v.sym == US_LSYM_SP;
}

bool us_link_begin_kept(const struct us_link_flow *f, const struct us_code_place *at,
			struct us_link_state *st, uint8_t *ret_base, uint8_t *ret_reg)
{
	const struct us_link_machine *m = f->machine;
	const struct us_link_value *was = f->arrived.reg;
	unsigned reg = 0;
	if (!us_link_has_arrived(f, at))
		return false;
	while (reg < US_LINK_N_REG && !keeps_address(f, reg))
		reg++;
	if (reg == US_LINK_N_REG)
		return false;
	bool away = was[m->sp].sym != US_LSYM_SP;
	int64_t from = was[away ? reg : m->sp].off;
	for (unsigned i = 0; i < US_LINK_N_REG; i++)
		if (keeps_address(f, i))
			st->reg[i] = (struct us_link_value){ was[i].off - from,
							     US_LSYM_SP };
	if (away)
		st->reg[m->sp] = (struct us_link_value){ m->sp, US_LSYM_REG };
	*ret_base = away ? US_BASE_EXIT_KEPT : US_BASE_SP;
	*ret_reg = (uint8_t)reg;
	return true;
}

/* It counts from the stack that is left. */
static void forget(struct us_link_value *v)
{
	if (v->sym == US_LSYM_SP || v->sym == US_LSYM_MEM_SP)
		*v = (struct us_link_value){ 0 };
}

void us_link_follow_word(const struct us_link_machine *m, struct us_link_state *st)
{
	struct us_link_value sp = st->reg[m->sp];
	if (st->by_word || sp.sym != US_LSYM_MEM_SP || sp.off % 8 || sp.off < 0 ||
	    sp.off / 8 >= US_CODE_EXIT_WORDS || us_link_state_is_new(st, sp))
		return;
	for (unsigned i = 0; i < US_LINK_N_REG; i++)
		forget(&st->reg[i]);
	struct us_link_value *const others[] = { &st->ra_saved,	 &st->fp_saved,
						 &st->exit_pc,	 &st->exit_sp,
						 &st->aside,	 &st->exit_state,
						 &st->want_saved };
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		forget(others[i]);
	for (unsigned i = 0; i < US_LINK_NEAR / 64; i++)
		st->read[i] = st->written[i] = 0;
	st->reg[m->sp] = (struct us_link_value){ .sym = US_LSYM_SP };
	st->by_word = true;
	st->word = (uint8_t)(sp.off / 8);
}

bool us_link_count_from(struct us_code_rule *rule, uint8_t base, uint8_t from)
{
	if (rule->base == US_BASE_FP)
		return true;
	rule->base = rule->base == US_BASE_SP ? base & 15 : US_BASE_NONE;
	rule->from = from & (US_CODE_EXIT_WORDS - 1);
	return rule->base != US_BASE_NONE;
}
