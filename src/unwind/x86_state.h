/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_state.h: rsp and rbp as a path through the code changes them.
 *
 * Values are symbolic: an offset to one of two symbols.  SP stands for rsp at the
 * place where the path began (or for the CFA), FP for rbp there.
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
	US_SYM_WANT, /* the register that is asked for, when the path began */
};

struct us_x86_value {
	int32_t off;
	uint8_t sym; /* enum us_x86_symbol */
};

struct us_x86_state {
	uint8_t word; /* bytes that a push takes: 8 or 4 */
	struct us_x86_value sp, fp;
	struct us_x86_value saved; /* the address at which FP itself was stored */
	/*
	 * gcc aligns a stack by `lea 8(%rsp),%r10; and $-64,%rsp; push -8(%r10)`:
	 * the return address is copied, and SP is from then on counted from the
	 * copy.  r10 keeps the true one; it is pushed in turn.  So does r13 in
	 * functions where r10 has another use.
	 */
	struct us_x86_value r10, r10_saved;
	uint8_t r10_reg; /* which of the two it is, by its number in the code */
	bool copied;	 /* SP is counted from the copy */
	bool away;	 /* rsp was given a value that is not known: another stack */
	struct us_x86_value sp_at; /* of US_SYM_WORD */
	/* Where on the stack the register was popped from that was popped last, as long
	 * as nothing is known to have changed it. */
	struct us_x86_value popped;
	uint8_t popped_reg;
	uint8_t stack; /* enum us_code_stack: of rsp when the path began */
	/* What leads out by sysret: rcx, and where rsp was loaded from last; and the
	 * address at which rcx itself was stored. */
	struct us_x86_value rcx, loaded_sp, rcx_saved;
	/* What registers that functions preserve hold, by their numbers in the code;
	 * and the address at which the one that is asked for was stored itself. */
	struct us_x86_value reg[US_X86_N_CODE], want_saved;
};

/* What the instruction makes of it.  A CALL changes nothing: it returns. */
void us_x86_state_step(struct us_x86_state *st, const struct us_x86_insn *insn);

/* Words are taken off the stack: the callee's part at its ret. n: bytes. */
void us_x86_state_drop(struct us_x86_state *st, int32_t n);

/* Does rbp hold what it held when the path began? */
static inline bool us_x86_state_fp_same(const struct us_x86_state *st)
{
	return st->fp.sym == US_SYM_FP && st->fp.off == 0;
}

#endif
