/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_state.h: rsp and rbp along a path through the code.
 *
 * Values are symbolic: an offset from one of two symbols.  SP stands for rsp at the
 * start of the path (or for the CFA), FP for rbp there.
 */
#ifndef US_X86_STATE_H
#define US_X86_STATE_H

#include "unwind/code_rule.h"
#include "unwind/x86_decode.h"

enum us_x86_symbol {
	US_SYM_NONE,   /* not known */
	US_SYM_SP,     /* SP + off */
	US_SYM_FP,     /* FP + off */
	US_SYM_MEM_SP, /* the word that was at SP + off when the path began */
	US_SYM_MEM_FP,
	US_SYM_ZERO,
	US_SYM_RCX,  /* rcx when the path began */
	US_SYM_WORD, /* of rsp: the word that was at sp_at, + off */
	US_SYM_WANT, /* the traced register when the path began */
};

struct us_x86_value {
	int32_t off;
	uint8_t sym; /* enum us_x86_symbol */
};

struct us_x86_state {
	uint8_t word; /* size of a push: 8 or 4 bytes */
	struct us_x86_value sp, fp;
	struct us_x86_value saved; /* the address at which FP itself was stored */
	/*
	 * gcc aligns a stack with `lea 8(%rsp),%r10; and $-64,%rsp; push -8(%r10)`.
	 * This copies the return address, and from then on SP counts from the copy.
	 * r10 keeps the true SP and is pushed in turn.  r13 does so in functions where
	 * r10 has another use.
	 */
	struct us_x86_value r10, r10_saved;
	uint8_t r10_reg; /* r10 or r13, by number in the code */
	bool copied;	 /* SP is counted from the copy */
	bool away;	 /* rsp got an unknown value: another stack */
	bool called;	 /* since a CALL within the function */
	bool gone; /* the word below SP was overwritten: if SP stands for the CFA, it
		      is no return address any more */
	struct us_x86_value sp_at; /* of US_SYM_WORD */
	/* Where on the stack the last popped register came from, as long as it is not
	 * known to have changed. */
	struct us_x86_value popped;
	uint8_t popped_reg;
	uint8_t stack; /* enum us_code_stack: of rsp when the path began */
	/* For an exit by sysret: rcx, where rsp was last loaded from, and the address
	 * where the initial rcx was stored. */
	struct us_x86_value rcx, loaded_sp, rcx_saved;
	/* Values of registers that functions preserve, by number in the code; and the
	 * address where the traced one's initial value was stored. */
	struct us_x86_value reg[US_X86_N_CODE], want_saved;
};

/* Apply an instruction.  A CALL changes nothing: it returns. */
void us_x86_state_step(struct us_x86_state *st, const struct us_x86_insn *insn);

/* Drop n bytes from the stack, as a callee does at its ret. */
void us_x86_state_drop(struct us_x86_state *st, int32_t n);

/* Does rbp hold what it held when the path began? */
static inline bool us_x86_state_fp_same(const struct us_x86_state *st)
{
	return st->fp.sym == US_SYM_FP && st->fp.off == 0;
}

#endif
