/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_flow.h: the state of an analysis by link_rule.c; shared by its files. */
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
	/* The place that a path from a function's start has last led to, and the state
	 * there. */
	struct us_code_place place;
	struct us_link_state arrived;
	bool returned;		   /* assume that CALLs return their argument */
	bool follows;		   /* count from a stack pointer that the way loads */
	uint8_t want;		   /* the register that is traced, or US_LINK_NO_REG */
	struct us_link_state left; /* at the exit that a path has led to */
};

/* A path that is being followed. */
struct us_link_path {
	us_gva pc;
	uint64_t order;
	struct us_link_state st;
};

/* False: it cannot be decoded; sets path.lost. */
bool us_link_flow_decode(struct us_link_flow *f, us_gva pc, struct us_link_insn *ret);
/* us_code_path_pend() and us_code_path_take(), with the state. */
void us_link_flow_pend(struct us_link_flow *f, us_gva pc, uint64_t order,
		       const struct us_link_state *st);
bool us_link_flow_take(struct us_link_flow *f, struct us_link_path *ret);
bool us_link_flow_is_routine(const struct us_link_flow *f,
			     const struct us_link_insn *insn);
bool us_link_flow_is_call(const struct us_link_flow *f,
			  const struct us_link_insn *insn);
/* Apply the instruction to the registers; false: its effect is not known. */
bool us_link_flow_step(struct us_link_flow *f, us_gva pc,
		       const struct us_link_insn *insn, struct us_link_state *st);

/* Note an indirect jump in this state: it may be by a switch's jump table. */
void us_link_note_table(struct us_link_flow *f, const struct us_link_state *st);

/*
 * Turn a load of a word beside the code into a US_LINK_CONST; leave others alone.  Such
 * a word is as constant as one in an instruction.  The trampoline that gcc writes on
 * the stack, to call a nested function by pointer, has the function's address behind
 * it; so have far jumps.
 */
void us_link_read_beside(const struct us_link_flow *f, us_gva pc,
			 const struct us_link_state *st, struct us_link_insn *insn);
/* Is this a jump to an address that the code itself gives? */
bool us_link_far_jump(const struct us_link_state *st, const struct us_link_insn *insn,
		      us_gva *ret);
/* Apply such loads right before a place to the registers; without any, *st is left
 * alone. */
void us_link_before_place(const struct us_link_flow *f, us_gva pc,
			  struct us_link_state *st);

/* Does the code right before pc, or before the CALL that ends there, pass the stack
 * pointer as the argument?  There a handler finds the registers of the interrupted
 * code. */
bool us_link_given_sp(struct us_link_flow *f, us_gva pc, bool behind_call);
/* Is such a CALL not far before pc, with its result still in its register? */
bool us_link_has_result(struct us_link_flow *f, us_gva pc);

/* The code has switched to another stack: the rule with a register that keeps the
 * previous stack pointer.  Without one, *ret is unchanged. */
void us_link_kept_at(const struct us_link_flow *f, const struct us_link_state *st,
		     struct us_code_rule *ret);

/* Has a path from the function's start last led to this place?  Then f->arrived is the
 * state there. */
bool us_link_has_arrived(const struct us_link_flow *f, const struct us_code_place *at);

/*
 * Let SP stand for an address of the function's first stack that a register has at the
 * place, if one that functions preserve has any.  *ret_base, *ret_reg: what SP is
 * counted from then.
 */
bool us_link_begin_kept(const struct us_link_flow *f, const struct us_code_place *at,
			struct us_link_state *st, uint8_t *ret_base, uint8_t *ret_reg);
/* If the stack pointer was just loaded from a word of the stack, let SP stand for it
 * from now on, once in a path. */
void us_link_follow_word(const struct us_link_machine *m, struct us_link_state *st);
/* Count a rule that counts from SP from that base instead; false: it cannot be. */
bool us_link_count_from(struct us_code_rule *rule, uint8_t base, uint8_t from);

/* The rule if the new stack pointer and pc are both words of the present stack.  False:
 * no rule can say so. */
bool us_link_word_rule(const struct us_link_flow *f, const struct us_link_state *st,
		       struct us_link_value pc, struct us_code_rule *ret);

#endif
