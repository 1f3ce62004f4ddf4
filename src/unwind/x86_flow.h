/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_flow.h: what an analysis by x86_rule.c has found; between the files of it. */
#ifndef US_UNWIND_X86_FLOW_H
#define US_UNWIND_X86_FLOW_H

#include "unwind/code_path.h"
#include "unwind/x86_state.h"

struct us_x86_flow {
	struct us_code_path path;
	uint8_t word; /* of the code: 8 or 4 bytes */
	struct us_x86_state pending[US_CODE_MAX_PENDING]; /* at a path's slot */
	struct us_code_ends ends;
	bool has_table; /* an indirect jump was met, in this state */
	struct us_x86_state table;
	uint8_t want;		  /* a register that is asked for, or US_X86_NO_REG */
	struct us_x86_state left; /* at the iret that a path has led to */
};

/* *st is how things are at the place, if it is reached. */
enum us_code_reach us_x86_from_start(struct us_x86_flow *f,
				     const struct us_code_place *at,
				     struct us_x86_state *st);

/*
 * Is this a jump to where one of the two instructions before it says?  before[0]: the
 * last of them.  The page by which programs enter the kernel is far away from the rest,
 * which may not be mapped here; and what gcc writes on the stack, to call a nested
 * function by pointer, sets the register for the caller's frame besides.
 */
bool us_x86_far_jump(struct us_x86_flow *f, const struct us_x86_insn before[2],
		     const struct us_x86_insn *insn, us_gva *ret);

/* The two instructions before a place, where they set registers for such a jump; else
 * *before is left alone. */
void us_x86_before_place(struct us_x86_flow *f, us_gva pc,
			 struct us_x86_insn before[2]);

/* Is this a jump to where a pop has said: a return in two instructions (clang
 * -mlvi-cfi)? */
bool us_x86_jumps_back(const struct us_x86_flow *f, const struct us_x86_state *st,
		       const struct us_x86_insn *insn);

/* A pop right before a place, of what is jumped to there; else *st is left alone. */
void us_x86_pop_before(struct us_x86_flow *f, us_gva pc, struct us_x86_state *st);

/* The bytes below pc, as many as can be read of range, to the end of code, which has
 * room for range; returns their number. */
size_t us_x86_before(const struct us_x86_flow *f, us_gva pc, uint8_t *code,
		     size_t range);

/* A register, by the number of the code (x86_decode.h) and by that of us_regs: from the
 * former to the latter if of_code, else the other way round. */
uint8_t us_x86_other_number(const struct us_x86_flow *f, uint8_t reg, bool of_code);
/* That of us_regs, of any register; reg: a number of the code, below US_X86_N_CODE. */
uint8_t us_x86_any_number(const struct us_x86_flow *f, uint8_t reg);

#endif
