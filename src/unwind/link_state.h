/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_state.h: general registers as a path through the code changes them.
 *
 * Values are symbolic: an offset to one of a few symbols, which stand for registers at
 * the place where the path began.
 */
#ifndef US_UNWIND_LINK_STATE_H
#define US_UNWIND_LINK_STATE_H

#include "unwind/code_rule.h"
#include "unwind/link_insn.h"

enum us_link_symbol {
	US_LSYM_NONE,	/* not known */
	US_LSYM_SP,	/* stack pointer + off */
	US_LSYM_FP,	/* frame pointer + off */
	US_LSYM_RA,	/* link register */
	US_LSYM_MEM_SP, /* the word that was at stack pointer + off */
	US_LSYM_MEM_FP,
	US_LSYM_CONST, /* off */
};

struct us_link_value {
	int32_t off;
	uint8_t sym; /* enum us_link_symbol */
};

struct us_link_state {
	struct us_link_value reg[US_LINK_N_REG];
	struct us_link_value ra_saved, fp_saved; /* the addresses where RA and FP
						    themselves were stored */
	struct us_link_value exit_pc;		 /* where an exception's return goes */
	uint8_t stack; /* enum us_code_stack: of the stack pointer there */
};

void us_link_state_init(struct us_link_state *st, const struct us_link_machine *m);

/* What the instruction makes of it.  A CALL returns, and has changed what functions do
 * not preserve. */
void us_link_state_step(struct us_link_state *st, const struct us_link_machine *m,
			const struct us_link_insn *insn);

#endif
