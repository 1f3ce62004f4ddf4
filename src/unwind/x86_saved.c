/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_saved.c: where functions have saved a register, on x86. */
#include "unwind/x86_flow.h"
#include "unwind/x86_rule.h"

uint8_t us_x86_other_number(const struct us_x86_flow *f, uint8_t reg, bool of_code)
{
	static const uint8_t narrow[][2] = { { US_X86_RSI, US_X86_CODE_RSI },
					     { US_X86_RDI, US_X86_CODE_R13 } };
	for (unsigned i = 0; f->word == 4 && i < 2; i++)
		if (reg == narrow[i][of_code])
			return narrow[i][!of_code];
	return reg;
}

uint8_t us_x86_any_number(const struct us_x86_flow *f, uint8_t reg)
{
	static const uint8_t numbers[8] = { US_X86_RAX, US_X86_RCX, US_X86_RDX,
					    US_X86_RBX, US_X86_RSP, US_X86_RBP,
					    US_X86_RSI, US_X86_RDI };
	if (f->word == 4 && reg == US_X86_CODE_R10)
		return US_X86_RCX;
	if (f->word == 4 && reg == US_X86_CODE_R13)
		return US_X86_RDI;
	return reg < 8 ? numbers[reg] : reg;
}

static enum us_code_save saved_from_start(struct us_x86_flow *f,
					  const struct us_code_place *at,
					  int32_t *ret_off)
{
	struct us_x86_state st;
	/* In a case of a switch, the register is as at the jump that leads there. */
	if (!at->start || us_x86_from_start(f, at, &st) < US_REACH_TABLE || st.copied)
		return US_SAVE_LOST;
	*ret_off = st.want_saved.off;
	return st.reg[f->want].sym == US_SYM_WANT ? US_SAVE_NONE
	       : st.want_saved.sym == US_SYM_SP	  ? US_SAVE_CFA
						  : US_SAVE_LOST;
}

/* The handler restores it. */
static enum us_code_save saved_by_exit(struct us_x86_flow *f,
				       const struct us_code_place *at, int32_t *ret_off)
{
	struct us_code_rule rule;
	if (us_x86_rule_to_return(f, at, &rule) != US_EXIT_IRET ||
	    rule.base != US_BASE_SP)
		return US_SAVE_LOST;
	struct us_x86_value v = f->left.reg[f->want];
	*ret_off = v.off - rule.cfa;
	return v.sym == US_SYM_WANT	? US_SAVE_NONE
	       : v.sym == US_SYM_MEM_SP ? US_SAVE_CFA
					: US_SAVE_LOST;
}

enum us_code_save us_x86_saved(struct us_x86_flow *f, const struct us_code_place *at,
			       unsigned reg, bool exit, int32_t *ret_off)
{
	f->want = us_x86_other_number(f, (uint8_t)reg, false);
	enum us_code_save save = US_SAVE_LOST;
	if (us_x86_is_preserved(f->word * 8U, f->want))
		save = exit ? saved_by_exit(f, at, ret_off)
			    : saved_from_start(f, at, ret_off);
	f->want = US_X86_NO_REG;
	return f->path.budget ? save : US_SAVE_LOST;
}
