/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_state.h: the general registers along a path through the code.
 *
 * Values are symbolic: an offset from one of a few symbols, which stand for registers
 * at the start of the path.
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
	US_LSYM_REG,	   /* another register, number off */
	US_LSYM_EXIT,	   /* where the exception's return goes, in the processor */
	US_LSYM_ELSEWHERE, /* a word of memory, addressed by none of these */
};

#define US_LINK_NEAR 128 /* words, the same number below and above */

struct us_link_value {
	int64_t off; /* 32 bits, except for a constant */
	uint8_t sym; /* enum us_link_symbol */
};

struct us_link_state {
	struct us_link_value reg[US_LINK_N_REG];
	struct us_link_value ra_saved, fp_saved; /* the addresses where RA and FP were
						    stored */
	struct us_link_value exit_pc;		 /* where an exception's return goes */
	struct us_link_value exit_sp;	 /* ... with what stack pointer of a program */
	struct us_link_value exit_state; /* ... in what state of the processor */
	struct us_link_value aside;	 /* US_LINK_ASIDE */
	/* Words near the initial stack pointer: those that were read before they were
	 * written, and those that were written first. */
	uint64_t read[US_LINK_NEAR / 64], written[US_LINK_NEAR / 64];
	uint8_t stack; /* enum us_code_stack: of the initial stack pointer */
	/* SP now stands for what was in this word, counted from SP before. */
	bool by_word;
	uint8_t word;
	/* The register that is traced, or US_LINK_NO_REG; and the address where its
	 * initial value was stored. */
	uint8_t want;
	struct us_link_value want_saved;
};

void us_link_state_init(struct us_link_state *st, const struct us_link_machine *m);

/* Has the path written this word of the stack before it read it?  Then the word held
 * something else when the path began. */
bool us_link_state_is_new(const struct us_link_state *st, struct us_link_value word);

/* Apply an instruction.  A CALL returns, and has changed what functions do not
 * preserve. */
void us_link_state_step(struct us_link_state *st, const struct us_link_machine *m,
			const struct us_link_insn *insn);

#endif
