/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_rule.h: the questions to an analysis of code, and its answers: where the return
 * address and the caller's registers are.  x86_rule.h and link_rule.h do the analysis,
 * each for its kind of processor.
 *
 * CFA: canonical frame address, the caller's stack pointer after the return (DWARF 5,
 * 6.4).  "fp" and "sp" are the frame and stack pointer: rbp and rsp on x86.
 */
#ifndef US_UNWIND_CODE_RULE_H
#define US_UNWIND_CODE_RULE_H

#include "guest/regs.h"

struct us_code_map;

enum us_code_base {
	US_BASE_NONE, /* no rule */
	US_BASE_SP,
	US_BASE_FP,
	US_BASE_R10,  /* while the stack is being aligned; ecx in 32-bit code */
	US_BASE_R13,  /* the same with r13, edi */
	US_BASE_WORD, /* the word at rsp + sp_at: the previous stack pointer, where the
			 code switched stacks for a call */
	US_BASE_WORD_WORD, /* the word at [the word at rsp + sp_at, + base_at]: the
			      same, by what describes the previous stack.  x86 */
	US_BASE_ROOT, /* the code sets rbp to 0 and does not save it: the outermost */
	US_BASE_OWN,  /* the code loaded the stack pointer before it used it: no caller
			 left what is above */
	US_BASE_KEPT, /* the register base_reg, which functions preserve: the previous
			 stack pointer, where the code switched stacks for a call */
	US_BASE_POPPED, /* the stack pointer; the return address was popped and is in
			   the register base_reg.  x86 */
	US_BASE_RESULT, /* of an exit: the value that the handler returned, which is the
			   address of the saved registers.  Not on x86 */
	US_BASE_EXIT_KEPT, /* of an exit: the register `from`, which functions preserve
			      and which has an address of the stack that the frame is
			      on.  Not on x86 */
	US_BASE_EXIT_WORD, /* of an exit: the word at the stack pointer, `from` words
			      on, as above.  Not on x86 */
};

#define US_CODE_EXIT_WORDS 32 /* US_BASE_EXIT_WORD: how far the word may be */

/* What the code has done with the stack pointer it was entered with. */
enum us_code_stack {
	US_STACK_ENTRY, /* nothing yet */
	US_STACK_USED,	/* read it, wrote through it, or saved it */
	US_STACK_OWN,	/* loaded another one, and never used the first */
};

/* The caller's rbp. */
enum us_code_fp {
	US_FP_SAME,  /* still in rbp */
	US_FP_SAVED, /* in memory at CFA + fp_at */
	US_FP_LOST,
};

/* The caller's rsp. */
enum us_code_sp {
	US_SP_CFA,   /* the CFA, except for stacks that were realigned */
	US_SP_SAVED, /* in memory at CFA + sp_at */
	US_SP_R10,   /* in r10; ecx in 32-bit code */
	US_SP_R13,   /* in r13; edi in 32-bit code */
	US_SP_LOST, /* it is the CFA, but the present rsp is unrelated to it, perhaps on
		       another stack */
};

/* The return address; see link_rule.h for architectures that have it in a register. */
enum us_code_ra {
	US_RA_BELOW,	 /* in the word below the CFA: x86 */
	US_RA_LINK,	 /* still in the link register */
	US_RA_SAVED,	 /* in memory at CFA + ra_at */
	US_RA_NEAR,	 /* in memory at the stack pointer + ra_at: with US_BASE_WORD */
	US_RA_EXCEPTION, /* of an exit: still in the processor, the code has not stored
			    it yet */
	US_RA_KEPT,	 /* in the register `from`, where the code has moved it */
	US_RA_GONE,	 /* not known: the code has overwritten the word below the CFA.
			    x86 */
};

#define US_SP_WAS_FP 1
#define US_SP_WAS_SP 2

struct us_code_rule {
	int32_t cfa;   /* CFA = base register + cfa */
	int16_t fp_at; /* a slot: us_code_slot() */
	union {
		int16_t sp_at;
		int16_t ra_at; /* of US_RA_SAVED and US_RA_NEAR; the caller's stack
				  pointer is then the CFA */
	};
	uint8_t base : 4;  /* enum us_code_base */
	uint8_t fp : 2;	   /* enum us_code_fp */
	uint8_t unled : 1; /* to the return, with no way known from the start to there
			    */
	uint8_t stray : 1; /* ... behind the CALL of a function that never returns: the
			      way is another function's */
	union {
		uint8_t sp;    /* enum us_code_sp */
		int8_t ra_was; /* of US_RA_SAVED in an exit: where the link register of
				  the interrupted code is, in words from the CFA
				  (negative); 0: not known; 1: still in the register.
				  Of US_RA_NEAR in an exit: -1 is the word at the stack
				  pointer, -2 the one above; fp_at is counted from
				  there, too */
	};
	uint8_t ra : 3;	  /* enum us_code_ra */
	uint8_t from : 5; /* of US_BASE_EXIT_KEPT, US_BASE_EXIT_WORD, US_RA_KEPT */
	union {
		int8_t sp_was; /* of an exit: where the stack pointer of the interrupted
				  code is, in words from the CFA (negative);
				  US_SP_WAS_FP: in the frame pointer's register;
				  US_SP_WAS_SP: restored already; 0: it is the CFA, or
				  not known where programs have one of their own */
		uint8_t base_reg; /* of US_BASE_KEPT and US_BASE_POPPED: number as in
				     us_regs */
		uint8_t base_at;  /* words; of US_BASE_WORD_WORD; of US_BASE_WORD and
				     US_RA_NEAR, for sp_at */
	};
};

/* Do both rules count the CFA from the same base, by the same offset? */
static inline bool us_code_same_base(const struct us_code_rule *a,
				     const struct us_code_rule *b)
{
	return a->base == b->base && a->cfa == b->cfa &&
	       ((a->base != US_BASE_KEPT && a->base != US_BASE_POPPED) ||
		a->base_reg == b->base_reg);
}

/* What a function has done, up to a place, with a register that functions preserve. */
enum us_code_save {
	US_SAVE_LOST, /* not known */
	US_SAVE_NONE, /* nothing: it is unchanged */
	US_SAVE_CFA,  /* saved in memory at the CFA + the offset */
};

#define US_CODE_MAX_STARTS 16
#define US_CODE_MAX_RANGE  16384 /* bytes that are searched for them */

/* Where functions may begin before a place: where code allocates stack space soon after
 * an instruction that leads elsewhere. */
struct us_code_starts {
	us_gva pc[US_CODE_MAX_STARTS]; /* nearest first */
	/* It follows a jump, a return or padding; else it follows a CALL, which may
	 * return. */
	bool sure[US_CODE_MAX_STARTS];
	unsigned n;
};

/* An address to make a rule for. */
struct us_code_place {
	us_gva pc;
	bool after_call; /* it is a return address: the CALL before it counts */
	us_gva start;	 /* of its function; 0: not known */
	us_gva end;	 /* of its function; 0: not known, all jumps are followed */
	us_gva target;	 /* after_call: where the CALL goes; 0: not known */
	/* Where the paths of other functions are cut: us_code_place_is_cut().  NULL:
	 * not known. */
	const struct us_code_map *map;
	us_gpa root; /* of the place's address space */
};

/* Is pc in its function?  If the end is not known, all code is. */
bool us_code_place_has(const struct us_code_place *at, us_gva pc);
/* Does an instruction at pc run over the end of the function, to next?  Code does not
 * run on into the next function: the CALL before its start never returns. */
bool us_code_place_runs_out(const struct us_code_place *at, us_gva pc, us_gva next);
/* Does a CALL, or the padding behind one, that ends at pc never lead on, by the place's
 * map?  us_code_map_is_cut() */
bool us_code_place_is_cut(const struct us_code_place *at, us_gva pc);

/*
 * Encode an offset from the CFA in the 16 bits of a rule's slot: multiples of 4 bytes
 * up to 64 KiB, others up to 16 KiB.  false: it does not fit.  Registers are saved near
 * the CFA; one that is not counts as lost.
 */
bool us_code_slot(int64_t off, int16_t *ret);
static inline int32_t us_code_slot_offset(int16_t slot)
{
	return slot & 1 ? slot >> 1 : (slot >> 1) * 4;
}
/* Does one of the two rules have the CFA of found? */
bool us_code_same_cfa(const struct us_code_rule *found,
		      const struct us_code_rule two[2]);

/* How the address was reached. */
enum us_code_reach {
	US_REACH_NEVER, /* all paths were followed; none leads there */
	US_REACH_NONE,	/* not found, but some paths could not be followed */
	US_REACH_TABLE, /* after an indirect jump: the rule is likely */
	US_REACH_FLOW,	/* on a path from the start */
};

enum us_code_exit {
	US_EXIT_NONE,	/* no path ends: no rule */
	US_EXIT_IRET,	/* leaves by iret or the like: an entry from outside.  The rule,
			   if any, has rip at CFA - a word, and above it what else the
			   processor pushed */
	US_EXIT_SYSRET, /* leaves by sysret: as above, but only rip is there */
	US_EXIT_BEHIND, /* only on paths that go on after a CALL: may be wrong */
	US_EXIT_RET,
	US_EXIT_LABEL,	 /* none; but perhaps behind a label, at the function's end */
	US_EXIT_SWITCH,	 /* only by a jump, with a stack pointer from memory: to another
			    thread.  No rule */
	US_EXIT_SYSCALL, /* by a jump to what `syscall` has left in rcx.  The rule is
			    that of us_x86_rule_of_syscall() */
};

/* A path returns, with the rule found; behind: after a CALL.  Takes the first such
 * rule, and later one that knows the caller's frame pointer.  true: no better one is
 * possible. */
bool us_code_exit_take(struct us_code_rule *rule, enum us_code_exit *how,
		       const struct us_code_rule *found, bool behind);

#endif
