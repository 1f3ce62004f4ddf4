/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_rule.h: finds the return address from the code alone.
 *
 * There are two ways to a rule for an address.  Both follow every path through the code
 * and what it does to rsp and rbp:
 *  - from the function's start, where the return address is at rsp, to the address;
 *  - from the address to a ret, at which the return address is at rsp again.
 * The first needs the function's start.  The second needs a path that ends; a CALL that
 * never returns can mislead it, which its result shows.
 *
 * CFA: canonical frame address, the caller's rsp after the return (DWARF 5, 6.4).  The
 * return address is in the word below the CFA.
 */
#ifndef US_X86_RULE_H
#define US_X86_RULE_H

#include "guest/paging.h"
#include "unwind/code_rule.h"

/* Memory for one analysis, and a window of guest code.  Large: not for the stack. */
struct us_x86_flow;

struct us_x86_flow *us_x86_flow_new(void); /* NULL: out of memory */
void us_x86_flow_free(struct us_x86_flow *f);

/* Set the memory to read code from, and the size of its word: 8 bytes (64-bit code) or
 * 4 (32-bit code); drops the window. */
void us_x86_flow_use(struct us_x86_flow *f, struct us_paging *p,
		     const struct us_space *s, unsigned word);

/* Set how many instructions may be followed from now on, in all analyses together.
 * Spent: none is left, so the last result is incomplete. */
void us_x86_flow_allow(struct us_x86_flow *f, unsigned n_insn);
bool us_x86_flow_spent(const struct us_x86_flow *f);
/* Did the last analysis come to code that is not mapped in its address space? */
bool us_x86_flow_is_away(const struct us_x86_flow *f);

/*
 * Does a CALL that ends at `end`, with a target imm bytes on, only push that address?
 * `call $+5` does, to get the program counter.  So does a CALL over a few bytes that
 * never run but trap speculative execution: Linux uses it for indirect jumps
 * (retpolines), and to fill the return stack buffer.
 */
bool us_x86_flow_pushes_pc(const struct us_x86_flow *f, us_gva end, int32_t imm);

/* From the start.  rule[0] is the one to use; rule[1] gives the same CFA by the other
 * register, if both have it.  Bounded: a few thousand instructions. */
enum us_code_reach us_x86_rule_from_start(struct us_x86_flow *f,
					  const struct us_code_place *at,
					  struct us_code_rule rule[2]);

/*
 * For a place behind which rsp is on another stack than where the function began, and
 * to which nothing else gives a rule: finds the caller's stack by the pointers to it in
 * memory.  Sets base and cfa, and what belongs to them; 64-bit code.
 */
bool us_x86_rule_of_switch(struct us_x86_flow *f, const struct us_code_place *at,
			   struct us_code_rule *rule);

/* To a ret.  at->end bounds the function; of at->start only matters whether it is
 * known. */
enum us_code_exit us_x86_rule_to_return(struct us_x86_flow *f,
					const struct us_code_place *at,
					struct us_code_rule *rule);

/*
 * Right after us_x86_rule_to_return() said `exit`, which is US_EXIT_NONE or a way that
 * pops an address and jumps to it: is the function an entry of system calls that leaves
 * by a jump to rcx?  start: its rule from the start.  *ret tells where the address
 * behind the `syscall` is: still in rcx (US_RA_LINK), or in memory (US_RA_SAVED); the
 * CFA is a word above the stack pointer at the `syscall`, or that is in memory
 * (US_SP_SAVED), and the address in the word below the CFA (US_RA_BELOW).  unled: by
 * the code to the jump alone; the code from the start does not show it.
 */
bool us_x86_rule_of_syscall(struct us_x86_flow *f, const struct us_code_place *at,
			    enum us_code_exit exit, const struct us_code_rule *start,
			    struct us_code_rule *ret);

/*
 * Right after us_x86_rule_to_return() found no way: does the straight code from the
 * place to a ret return to an address that it pushes, after it has left other words on
 * the stack?  So do parts of entries that save registers, and have their own return
 * address in a register (Linux's error_entry).  The rule tells where that is: in a
 * register (US_RA_KEPT) or in memory (US_RA_SAVED).  The CFA is where the stack pointer
 * will be behind the return.  Puts that rule before the one from the start.  64-bit
 * code.
 */
void us_x86_rule_of_moved(struct us_x86_flow *f, const struct us_code_place *at,
			  struct us_code_rule rule[2]);

/* For a place from where the code leads into the next function of the map, at at->end:
 * do all ways lead to an iret, with one rule?  What a CALL at the end is followed by
 * must not look like a way in.  Not behind a CALL, the rule has no base if all ways
 * lead over another stack. */
bool us_x86_rule_past_label(struct us_x86_flow *f, const struct us_code_place *at,
			    struct us_code_rule *rule);

/*
 * Where the caller's value of a register that functions preserve is, at that place.
 * exit: instead the value of the interrupted code, in a handler that ends in iret.
 * reg: number as in us_regs.  *ret_off: for US_SAVE_CFA.
 */
enum us_code_save us_x86_saved(struct us_x86_flow *f, const struct us_code_place *at,
			       unsigned reg, bool exit, int32_t *ret_off);

/* Where the code of the place begins if it is entered by a far jump that changes the
 * mode, from code before it: between at->start, if that is known, and the place.  0: no
 * such jump is there. */
us_gva us_x86_behind_mode_switch(const struct us_x86_flow *f,
				 const struct us_code_place *at);

/* Where the function that contains pc may begin, judging by range bytes of code before
 * it, US_CODE_MAX_RANGE at most. */
void us_x86_starts(struct us_x86_flow *f, us_gva pc, unsigned range,
		   struct us_code_starts *ret);

/*
 * *ret: the target of the CALL by register that ends at pc, if a constant is loaded
 * into that register right before, as in large code models.  Code elsewhere may jump
 * between the two, so this is only a possible target.  64-bit code.
 */
bool us_x86_named_call(const struct us_x86_flow *f, us_gva pc, us_gva *ret);

enum us_x86_own {
	US_X86_OWN_NOT,
	US_X86_OWN_SOME, /* a stack that the code before did not have */
	US_X86_OWN_AT,	 /* a constant gives its address */
};

/*
 * Has the straight code up to the CALL before pc switched to another stack?  *ret_sp:
 * for US_X86_OWN_AT, the value that rsp must have behind the CALL.  Not if it has saved
 * registers on the stack before.  start: of the function, or 0: not known; if it is,
 * nothing may have been left on the first stack, and no pointer to it been kept.
 */
enum us_x86_own us_x86_own_stack(struct us_x86_flow *f, us_gva pc, us_gva start,
				 us_gva *ret_sp);
/* Does the code behind the CALL, from pc on, switch back to another stack, or leave by
 * an interrupt's frame? */
bool us_x86_goes_back(struct us_x86_flow *f, us_gva pc);
/* Does the straight code from pc on only trap, or jump to itself, without a CALL or a
 * system call? */
bool us_x86_traps(struct us_x86_flow *f, us_gva pc);
/* Does the function save, before it changes any, the registers that a caller does not
 * expect back: the flags, or rax, rcx and rdx?  Then what entered it was no CALL. */
bool us_x86_saves_all(struct us_x86_flow *f, us_gva start);
/* Does it save registers, as an entry does, rather than restore them? */
bool us_x86_goes_in(struct us_x86_flow *f, us_gva pc);

/*
 * Does the function never leave, from at->pc on?  start: its rules there, from the
 * start.  True only if every path was followed, including jumps to other functions and
 * the code behind each CALL.  A CALL at the end of a function may be to one that does
 * not return.  A path therefore also goes on into the next function; if that is one, it
 * leaves with another CFA.
 */
bool us_x86_stays(struct us_x86_flow *f, const struct us_code_place *at,
		  const struct us_code_rule start[2]);

#endif
