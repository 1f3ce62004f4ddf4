/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_flow.h: the state of an analysis by x86_rule.c; shared by its files. */
#ifndef US_UNWIND_X86_FLOW_H
#define US_UNWIND_X86_FLOW_H

#include "unwind/code_path.h"
#include "unwind/x86_state.h"

struct us_x86_flow {
	struct us_code_path path;
	uint8_t word; /* size, of the code: 8 or 4 bytes */
	struct us_x86_state pending[US_CODE_MAX_PENDING]; /* at a path's slot */
	struct us_code_ends ends;
	bool has_table; /* an indirect jump was met, in this state */
	struct us_x86_state table;
	uint8_t want;		  /* the register that is traced, or US_X86_NO_REG */
	struct us_x86_state left; /* at the iret that a path has led to */
};

/* *st: the state at the place, if it is reached. */
enum us_code_reach us_x86_from_start(struct us_x86_flow *f,
				     const struct us_code_place *at,
				     struct us_x86_state *st);

/*
 * Is this a jump to an address that one of the two instructions before it loads?
 * before[0]: the last of them.  Such jumps are in the page by which programs enter the
 * kernel, which is far from the rest, and the rest may not be mapped here; and in the
 * trampoline that gcc writes on the stack to call a nested function by pointer, which
 * also sets the register of the caller's frame.
 */
bool us_x86_far_jump(struct us_x86_flow *f, const struct us_x86_insn before[2],
		     const struct us_x86_insn *insn, us_gva *ret);

/* *before: the two instructions before a place, if they set registers for such a jump;
 * else it is left alone. */
void us_x86_before_place(struct us_x86_flow *f, us_gva pc,
			 struct us_x86_insn before[2]);

/* Is this a jump to an address that was popped: a return in two instructions (clang
 * -mlvi-cfi)? */
bool us_x86_jumps_back(const struct us_x86_flow *f, const struct us_x86_state *st,
		       const struct us_x86_insn *insn);

/* Apply a pop right before a place, if the place jumps to what was popped; else *st is
 * left alone. */
void us_x86_pop_before(struct us_x86_flow *f, us_gva pc, struct us_x86_state *st);

/* Copy the bytes below pc, up to range of them, to the end of code, which has room for
 * range.  Returns how many could be read. */
size_t us_x86_before(const struct us_x86_flow *f, us_gva pc, uint8_t *code,
		     size_t range);

/* Convert a register's number from that of the code (x86_decode.h) to that of us_regs
 * if of_code, else the other way round. */
uint8_t us_x86_other_number(const struct us_x86_flow *f, uint8_t reg, bool of_code);
/* The us_regs number of any register; reg: number in the code, below US_X86_N_CODE. */
uint8_t us_x86_any_number(const struct us_x86_flow *f, uint8_t reg);

#endif
