/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_rule.h: what an analysis of code is asked, and what it says: where the return
 * address is, and the caller's registers.  x86_rule.h and link_rule.h make it, each for
 * its kind of processor.
 *
 * CFA: canonical frame address, the caller's stack pointer after the return (DWARF 5,
 * 6.4).  "fp" and "sp" are the frame and stack pointer: rbp and rsp on x86.
 */
#ifndef US_UNWIND_CODE_RULE_H
#define US_UNWIND_CODE_RULE_H

#include "guest/regs.h"

enum us_code_base {
	US_BASE_NONE, /* no rule */
	US_BASE_SP,
	US_BASE_FP,
	US_BASE_R10,  /* a stack that is just being aligned; ecx in 32-bit code */
	US_BASE_R13,  /* the same with r13, edi */
	US_BASE_WORD, /* the word at rsp + sp_at: where the stack was that this one was
			 taken instead of, for a call */
	US_BASE_ROOT, /* the code sets rbp to 0 and saves none: nobody called it */
	US_BASE_OWN,  /* the code loaded the stack pointer before it used it: what is
			 above was not left there by a caller */
	US_BASE_KEPT, /* the register base_reg, which functions preserve: where the
			 stack was that this one was taken instead of, for a call */
	US_BASE_POPPED, /* the stack pointer, and the return address was taken off the
			   stack: it is in the register base_reg.  x86 */
	US_BASE_RESULT, /* of an exit: what the handler has returned, which is where
			   registers are kept.  Not on x86 */
};

/* What the code has done with the stack pointer that it was entered with. */
enum us_code_stack {
	US_STACK_ENTRY, /* nothing yet */
	US_STACK_USED,	/* read it, wrote through it, or kept it somewhere */
	US_STACK_OWN,	/* loaded another one, and never used that */
};

/* The caller's rbp. */
enum us_code_fp {
	US_FP_SAME,  /* still in rbp */
	US_FP_SAVED, /* in memory at CFA + fp_at */
	US_FP_LOST,
};

/* The caller's rsp. */
enum us_code_sp {
	US_SP_CFA,   /* the CFA; as always but for stacks that are aligned anew */
	US_SP_SAVED, /* in memory at CFA + sp_at */
	US_SP_R10,   /* in r10; ecx in 32-bit code */
	US_SP_R13,   /* in r13; edi in 32-bit code */
	US_SP_LOST,  /* it is the CFA, but what it is now has nothing to do with that;
			perhaps another stack */
};

/* The return address; see link_rule.h for architectures that have it in a register. */
enum us_code_ra {
	US_RA_BELOW,	 /* in the word below the CFA: x86 */
	US_RA_LINK,	 /* still in the link register */
	US_RA_SAVED,	 /* in memory at CFA + ra_at */
	US_RA_NEAR,	 /* in memory at the stack pointer + ra_at: of US_BASE_WORD */
	US_RA_EXCEPTION, /* of an exit: the code has yet to put there what the processor
			    has */
};

#define US_SP_WAS_FP 1
#define US_SP_WAS_SP 2

struct us_code_rule {
	int32_t cfa;   /* CFA = base register + cfa */
	int16_t fp_at; /* a slot: us_code_slot() */
	union {
		int16_t sp_at;
		int16_t ra_at; /* of US_RA_SAVED and US_RA_NEAR; the stack pointer is
				  the CFA then */
	};
	uint8_t base : 4; /* enum us_code_base */
	uint8_t fp : 4;	  /* enum us_code_fp */
	union {
		uint8_t sp;    /* enum us_code_sp */
		int8_t ra_was; /* of US_RA_SAVED in an exit: where the link register of
				  what was broken off is, in words from the CFA,
				  below it; 0: it is not known; 1: still there */
	};
	uint8_t ra; /* enum us_code_ra */
	union {
		int8_t sp_was;	  /* of an exit: where the stack pointer of what was
				     broken off is, in words from the CFA, below it;
				     US_SP_WAS_FP: in the frame pointer's register;
				     US_SP_WAS_SP: it is back already; 0:
				     where programs have one of their own, that is not
				     known; else it is the CFA */
		uint8_t base_reg; /* of US_BASE_KEPT and US_BASE_POPPED: its number, as
				     in us_regs */
		uint8_t base_at;  /* of US_BASE_WORD and US_RA_NEAR, for sp_at: in words
				   */
	};
};

/* Do they count the CFA from the same base? */
static inline bool us_code_same_base(const struct us_code_rule *a,
				     const struct us_code_rule *b)
{
	return a->base == b->base && a->cfa == b->cfa &&
	       ((a->base != US_BASE_KEPT && a->base != US_BASE_POPPED) ||
		a->base_reg == b->base_reg);
}

/* What a function has done, at a place, with a register that functions preserve. */
enum us_code_save {
	US_SAVE_LOST, /* nobody knows */
	US_SAVE_NONE, /* nothing: it is as it was */
	US_SAVE_CFA,  /* it is in memory, at the CFA + the offset */
};

#define US_CODE_MAX_STARTS 16
#define US_CODE_MAX_RANGE  16384 /* bytes looked through for them */

/* Where functions may begin, before a place: where code takes room on the stack, soon
 * after what leads elsewhere. */
struct us_code_starts {
	us_gva pc[US_CODE_MAX_STARTS]; /* nearest first */
	/* It is behind a jump, a return or padding; else it is behind a CALL, which may
	 * return. */
	bool sure[US_CODE_MAX_STARTS];
	unsigned n;
};

/* An address to make a rule for. */
struct us_code_place {
	us_gva pc;
	bool after_call; /* it is a return address: its CALL is what counts */
	us_gva start;	 /* of its function; 0: not known */
	us_gva end;	 /* of its function; 0: not known, all jumps are followed */
	us_gva target;	 /* after_call: where the CALL goes; 0: not known */
};

/* Does pc lie in its function?  If the end is not known, all code does. */
bool us_code_place_has(const struct us_code_place *at, us_gva pc);
/* Does an instruction at pc lead out of the end of the function, to next?  Code does
 * not run on into the next function: the CALL before that never returns. */
bool us_code_place_runs_out(const struct us_code_place *at, us_gva pc, us_gva next);

/*
 * An offset from the CFA in a slot of a rule, which has 16 bits: words of 4 bytes to 64
 * KiB, any bytes to 16 KiB.  Registers are saved near the CFA; false: one that is not
 * counts as lost.
 */
bool us_code_slot(int64_t off, int16_t *ret);
static inline int32_t us_code_slot_offset(int16_t slot)
{
	return slot & 1 ? slot >> 1 : (slot >> 1) * 4;
}
/* Has one of two rules the CFA of found? */
bool us_code_same_cfa(const struct us_code_rule *found,
		      const struct us_code_rule two[2]);

/* How the address was reached. */
enum us_code_reach {
	US_REACH_NEVER, /* all paths were followed, none leads there */
	US_REACH_NONE,	/* not, but some paths could not be followed */
	US_REACH_TABLE, /* behind an indirect jump: the rule is likely */
	US_REACH_FLOW,	/* on a path from the start */
};

enum us_code_exit {
	US_EXIT_NONE,	/* no path ends: no rule */
	US_EXIT_IRET,	/* leaves by iret or the like: an entry from outside.  The rule,
			   if   any, has rip at CFA - a word, and above it what else the
			   processor pushed */
	US_EXIT_SYSRET, /* leaves by sysret: as above, but only rip is there */
	US_EXIT_BEHIND, /* only paths that go on behind a CALL: may be wrong */
	US_EXIT_RET,
	US_EXIT_SWITCH, /* only by a jump, with a stack pointer from memory: to what
			   another thread was at.  No rule */
};

/* A path returns, by the rule found; behind: behind a CALL.  The first is taken, and
 * after it one that knows the caller's frame pointer; true: there is no better. */
bool us_code_exit_take(struct us_code_rule *rule, enum us_code_exit *how,
		       const struct us_code_rule *found, bool behind);

#endif
