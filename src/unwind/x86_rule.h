/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_rule.h: where is the return address, told from the code alone.
 *
 * Two ways to a rule for one address, both by following every path through the code
 * and what it does to rsp and rbp:
 *  - from the function's start, where the return address is at rsp, to the address;
 *  - from the address to a ret, at which the return address is at rsp again.
 * The first needs to know where the function starts; the second needs a path that
 * ends, and can be led astray by a CALL that never returns (it says so).
 *
 * CFA: canonical frame address, the caller's rsp after the return (DWARF 5, 6.4).
 * The return address is in the word below the CFA.
 */
#ifndef US_X86_RULE_H
#define US_X86_RULE_H

#include "guest/paging.h"
#include "unwind/code_rule.h"

/* Memory for one analysis, and a window of guest code.  Large: not for the stack. */
struct us_x86_flow;

struct us_x86_flow *us_x86_flow_new(void); /* NULL: out of memory */
void us_x86_flow_free(struct us_x86_flow *f);

/* Which memory to read code from, and the bytes of its word: 8 (64-bit code) or 4
 * (32-bit code); drops the window. */
void us_x86_flow_use(struct us_x86_flow *f, struct us_paging *p,
		     const struct us_space *s, unsigned word);

/* How many instructions may be followed from now on, in all analyses together; and
 * whether none is left: then what the last one found is not all there is. */
void us_x86_flow_allow(struct us_x86_flow *f, unsigned n_insn);
bool us_x86_flow_spent(const struct us_x86_flow *f);
/* Did the last one come to code that is not mapped in its address space? */
bool us_x86_flow_is_away(const struct us_x86_flow *f);

/*
 * Does a CALL that ends there, with a target imm bytes on, only push that address?  So
 * does `call $+5`, which learns the program counter; and one over a few bytes that are
 * never run, but keep a processor there that guesses: Linux makes its indirect jumps
 * so, and fills the buffer that return addresses are guessed from.
 */
bool us_x86_flow_pushes_pc(const struct us_x86_flow *f, us_gva end, int32_t imm);

/* From the start.  rule[0] is the one to use; rule[1] is the same CFA told from the
 * other register, where both know it.  Bounded: a few thousand instructions. */
enum us_code_reach us_x86_rule_from_start(struct us_x86_flow *f,
					  const struct us_code_place *at,
					  struct us_code_rule rule[2]);

/* To a ret; of at->start and at->end only the latter is used. */
enum us_code_exit us_x86_rule_to_return(struct us_x86_flow *f,
					const struct us_code_place *at,
					struct us_code_rule *rule);

/*
 * Where a register that functions preserve is, at that place, as the caller had it;
 * exit: as what was broken off had it, in a handler that ends in iret.  reg: as in
 * us_regs.  *ret_off: of US_SAVE_CFA.
 */
enum us_code_save us_x86_saved(struct us_x86_flow *f, const struct us_code_place *at,
			       unsigned reg, bool exit, int32_t *ret_off);

/* Where the function that pc is in may begin, by the code before: range bytes
 * of it, US_CODE_MAX_RANGE at most. */
void us_x86_starts(struct us_x86_flow *f, us_gva pc, unsigned range,
		   struct us_code_starts *ret);

/*
 * Where does the CALL by a register lead that ends at pc, if a constant is loaded into
 * that right before, as large code models have it?  Code elsewhere may have jumped to
 * between the two: so it only may lead there.  64-bit code.
 */
bool us_x86_named_call(const struct us_x86_flow *f, us_gva pc, us_gva *ret);

enum us_x86_own {
	US_X86_OWN_NOT,
	US_X86_OWN_SOME, /* a stack that what was before did not have */
	US_X86_OWN_AT,	 /* a constant says where it is */
};

/*
 * Has the straight code up to the CALL before pc taken another stack?  *ret_sp: of
 * US_X86_OWN_AT, where rsp has to be behind the CALL.
 */
enum us_x86_own us_x86_own_stack(struct us_x86_flow *f, us_gva pc, us_gva *ret_sp);
/* Does the code from there on, behind the CALL, go back to another stack, or leave by
 * what an interrupt pushed? */
bool us_x86_goes_back(struct us_x86_flow *f, us_gva pc);

/*
 * Does the function never leave again, from at->pc on?  start: its rules there, from
 * the start.  True only if every path was followed: into what it jumps to, behind each
 * CALL, and, as a CALL at the end of a function may be to one that does not return, on
 * into the next function, which leaves with another CFA if it is one.
 */
bool us_x86_stays(struct us_x86_flow *f, const struct us_code_place *at,
		  const struct us_code_rule start[2]);

#endif
