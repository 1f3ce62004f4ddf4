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
	US_LSYM_CONST,	   /* off */
	US_LSYM_REG,	   /* another register, of number off */
	US_LSYM_EXIT,	   /* where the processor goes on after the exception */
	US_LSYM_ELSEWHERE, /* a word of memory that none of these leads to */
};

#define US_LINK_NEAR 128 /* words, the same number below and above */

struct us_link_value {
	int64_t off; /* of all but a constant: 32 bits */
	uint8_t sym; /* enum us_link_symbol */
};

struct us_link_state {
	struct us_link_value reg[US_LINK_N_REG];
	struct us_link_value ra_saved, fp_saved; /* the addresses where RA and FP
						    themselves were stored */
	struct us_link_value exit_pc;		 /* where an exception's return goes */
	struct us_link_value exit_sp; /* ... with what stack pointer of a program */
	struct us_link_value aside;   /* US_LINK_ASIDE */
	/* Words near the stack pointer of the beginning that were read before anything
	 * else was done to them; and those that were written first. */
	uint64_t read[US_LINK_NEAR / 64], written[US_LINK_NEAR / 64];
	uint8_t stack; /* enum us_code_stack: of the stack pointer there */
	/* A register that is asked for, or US_LINK_NO_REG; and the address at which it
	 * was stored itself. */
	uint8_t want;
	struct us_link_value want_saved;
};

void us_link_state_init(struct us_link_state *st, const struct us_link_machine *m);

/* Was there something else in this word of the stack when the path began, which it has
 * not looked at before it wrote there? */
bool us_link_state_is_new(const struct us_link_state *st, struct us_link_value word);

/* What the instruction makes of it.  A CALL returns, and has changed what functions do
 * not preserve. */
void us_link_state_step(struct us_link_state *st, const struct us_link_machine *m,
			const struct us_link_insn *insn);

#endif
