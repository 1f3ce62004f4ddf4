/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_flow.h: what an analysis by link_rule.c has found; between the files of it. */
#ifndef US_UNWIND_LINK_FLOW_H
#define US_UNWIND_LINK_FLOW_H

#include "unwind/code_path.h"
#include "unwind/link_state.h"

struct us_link_flow {
	const struct us_link_machine *machine;
	struct us_code_path path;
	struct us_link_state pending[US_CODE_MAX_PENDING]; /* at a path's slot */
	struct us_code_ends ends;
	bool has_table; /* an indirect jump was met, in this state */
	struct us_link_state table;
	/* Where a path from a function's start has led to last, and how. */
	struct us_code_place place;
	struct us_link_state arrived;
	bool returned;		   /* CALLs return what they are given */
	uint8_t want;		   /* a register that is asked for, or US_LINK_NO_REG */
	struct us_link_state left; /* at the exit that a path has led to */
};

/* A path that is being followed. */
struct us_link_path {
	us_gva pc;
	uint64_t order;
	struct us_link_state st;
};

/* False: nothing that can be followed; then it is lost. */
bool us_link_flow_decode(struct us_link_flow *f, us_gva pc, struct us_link_insn *ret);
/* As us_code_path_pend() and us_code_path_take(), with the state. */
void us_link_flow_pend(struct us_link_flow *f, us_gva pc, uint64_t order,
		       const struct us_link_state *st);
bool us_link_flow_take(struct us_link_flow *f, struct us_link_path *ret);
bool us_link_flow_is_routine(const struct us_link_flow *f,
			     const struct us_link_insn *insn);
bool us_link_flow_is_call(const struct us_link_flow *f,
			  const struct us_link_insn *insn);
/* What the instruction makes of the registers; false: nobody knows. */
bool us_link_flow_step(struct us_link_flow *f, us_gva pc,
		       const struct us_link_insn *insn, struct us_link_state *st);

/* An indirect jump in this state: it may be a table of a switch. */
void us_link_note_table(struct us_link_flow *f, const struct us_link_state *st);

/*
 * A load of a word beside the code, which is a constant as those in instructions are:
 * what gcc writes on the stack, to call a nested function by pointer, has behind it
 * where that function is; so have jumps that lead far away.  It becomes a
 * US_LINK_CONST; all else is left alone.
 */
void us_link_read_beside(const struct us_link_flow *f, us_gva pc,
			 const struct us_link_state *st, struct us_link_insn *insn);
/* Is this a jump to where the code itself says? */
bool us_link_far_jump(const struct us_link_state *st, const struct us_link_insn *insn,
		      us_gva *ret);
/* What such loads right before a place have made of registers; else *st is left alone.
 */
void us_link_before_place(const struct us_link_flow *f, us_gva pc,
			  struct us_link_state *st);

/* Right before pc, or before the CALL that ends there, the stack pointer was made the
 * argument: where a handler finds the registers of what was broken off. */
bool us_link_given_sp(struct us_link_flow *f, us_gva pc, bool behind_call);
/* Such a CALL is not far before pc, and what it returned is still in its register. */
bool us_link_has_result(struct us_link_flow *f, us_gva pc);

/* Another stack was taken: the rule by a register that keeps where this one is; *ret is
 * as it was if there is none. */
void us_link_kept_at(const struct us_link_flow *f, const struct us_link_state *st,
		     struct us_code_rule *ret);

/* The stack pointer becomes what was kept on this stack, and so does pc: both are words
 * of it.  False: no rule says so. */
bool us_link_word_rule(const struct us_link_flow *f, const struct us_link_state *st,
		       struct us_link_value pc, struct us_code_rule *ret);

#endif
