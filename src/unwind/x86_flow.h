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
	struct us_x86_state left; /* at the iret, or the jump to rcx, that a path has
				     led to */
	us_gva rcx_jump;	  /* that jump; 0: none */
	bool returns;		  /* a path has led to a ret */
};

/* Begin a new analysis, with the budget that is left. */
void us_x86_flow_start(struct us_x86_flow *f);
/* Decode the instruction at pc; false: it is none, or not there, which loses the path.
 */
bool us_x86_flow_decode(struct us_x86_flow *f, us_gva pc, struct us_x86_insn *ret);
/* Apply it; next: its end. */
void us_x86_flow_step(struct us_x86_flow *f, struct us_x86_state *st,
		      const struct us_x86_insn *insn, us_gva next);
/* Follow pc later, in this state: us_code_path_pend(). */
void us_x86_flow_pend(struct us_x86_flow *f, us_gva pc, uint64_t order, bool after_call,
		      const struct us_x86_state *st);
us_gva us_x86_flow_target(const struct us_x86_flow *f, us_gva next,
			  const struct us_x86_insn *insn);
/* How many bytes the function at pc takes off the stack when it returns.  In some
 * conventions of 32-bit code this is the callee's part, and its ret says how many. */
int32_t us_x86_flow_pops(struct us_x86_flow *f, us_gva pc);
bool us_x86_is_call(const struct us_x86_insn *insn);
/*
 * For a CALL that pushes its end: does the code replace the pushed address with the
 * target of a jump, as retpolines do with "mov reg, (rsp); ret"?  Where that leads
 * cannot be known.  next: the end.
 */
bool us_x86_flow_is_retpoline(const struct us_x86_flow *f,
			      const struct us_x86_insn *insn, us_gva next);
bool us_x86_is_jump(const struct us_x86_insn *insn); /* or CALLs that only push */

/* *st: the state at the place, if it is reached. */
enum us_code_reach us_x86_from_start(struct us_x86_flow *f,
				     const struct us_code_place *at,
				     struct us_x86_state *st);

/* The code has taken another stack, or aligned this one.  If a register that functions
 * preserve has an address of this stack, *ret counts the CFA from it. */
void us_x86_kept_at(const struct us_x86_flow *f, const struct us_x86_state *st,
		    struct us_code_rule *ret);

/*
 * Is this a jump to an address that one of the two instructions before it loads?
 * before[0]: the last of them.  Such jumps are in the page by which programs enter the
 * kernel, which is far from the rest, and the rest may not be mapped here; and in the
 * trampoline that gcc writes on the stack to call a nested function by pointer, which
 * also sets the register of the caller's frame.
 */
bool us_x86_far_jump(struct us_x86_flow *f, const struct us_x86_insn before[2],
		     const struct us_x86_insn *insn, us_gva *ret);

/* Where a far ret at pc goes that only loads cs: to an address that the code right
 * before it pushes, by itself (push $1f) or from a register (lea 1f(%rip), %rax; push
 * %rax).  False: not known, or it returns to a caller. */
bool us_x86_far_ret_to(const struct us_x86_flow *f, us_gva pc, us_gva *ret);

/* *before: the two instructions before a place, if they set registers for such a jump;
 * else it is left alone. */
void us_x86_before_place(struct us_x86_flow *f, us_gva pc,
			 struct us_x86_insn before[2]);

/* Is this a jump to an address that was popped: a return in two instructions (clang
 * -mlvi-cfi)? */
bool us_x86_jumps_back(const struct us_x86_flow *f, const struct us_x86_state *st,
		       const struct us_x86_insn *insn);

/* Is this a jump to that register?  reg: number in the code. */
bool us_x86_jumps_to(const struct us_x86_flow *f, const struct us_x86_insn *insn,
		     uint8_t reg);

/* Do ways from the place lead to such a jump to rcx, and none to another way out?  Then
 * f->rcx_jump is the first, and f->left the state there. */
bool us_x86_leaves_by_rcx(struct us_x86_flow *f, const struct us_code_place *at);

/* Apply a pop right before a place, if the place jumps to what was popped; else *st is
 * left alone. */
void us_x86_pop_before(struct us_x86_flow *f, us_gva pc, struct us_x86_state *st);

/* Copy the bytes below pc, up to range of them, to the end of code, which has room for
 * range.  Returns how many could be read. */
size_t us_x86_before(const struct us_x86_flow *f, us_gva pc, uint8_t *code,
		     size_t range);

/* A loop that moves rsp down in steps, until it is what a register holds. */
struct us_x86_probe {
	us_gva head;
	int32_t step, total; /* bytes; total: of all rounds */
	uint8_t reg;	     /* number in the code */
};

/* Is the code from head to the branch that ends at `end` such a loop? */
bool us_x86_probe_loop(const struct us_x86_flow *f, us_gva head, us_gva end,
		       struct us_x86_probe *ret);
/* Is pc in one? */
bool us_x86_in_probe_loop(const struct us_x86_flow *f, us_gva pc,
			  struct us_x86_probe *ret);

/* Convert a register's number from that of the code (x86_decode.h) to that of us_regs
 * if of_code, else the other way round. */
uint8_t us_x86_other_number(const struct us_x86_flow *f, uint8_t reg, bool of_code);
/* The us_regs number of any register; reg: number in the code, below US_X86_N_CODE. */
uint8_t us_x86_any_number(const struct us_x86_flow *f, uint8_t reg);

#endif
