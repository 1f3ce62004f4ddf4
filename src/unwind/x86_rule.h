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

enum us_x86_base {
	US_BASE_NONE, /* no rule */
	US_BASE_SP,
	US_BASE_FP,
	US_BASE_R10,  /* a stack that is just being aligned; ecx in 32-bit code */
	US_BASE_R13,  /* the same with r13, edi */
	US_BASE_ROOT, /* the code sets rbp to 0 and saves none: nobody called it */
};

/* The caller's rbp. */
enum us_x86_fp {
	US_FP_SAME,  /* still in rbp */
	US_FP_SAVED, /* in memory at CFA + fp_at units */
	US_FP_LOST,
};

/* The caller's rsp. */
enum us_x86_sp {
	US_SP_CFA,   /* the CFA; as always but for stacks that are aligned anew */
	US_SP_SAVED, /* in memory at CFA + sp_at units */
	US_SP_R10,   /* in r10; ecx in 32-bit code */
	US_SP_R13,   /* in r13; edi in 32-bit code */
	US_SP_LOST,
};

/* The return address; see link_rule.h for architectures that have it in a register. */
enum us_x86_ra {
	US_RA_BELOW, /* in the word below the CFA: x86 */
	US_RA_LINK,  /* still in the link register */
	US_RA_SAVED, /* in memory at CFA + ra_at units */
};

#define US_RULE_UNIT 4 /* bytes */

struct us_x86_rule {
	int32_t cfa; /* CFA = base register + cfa */
	int16_t fp_at;
	union {
		int16_t sp_at;
		int16_t ra_at; /* of US_RA_SAVED; the stack pointer is the CFA then */
	};
	uint8_t base; /* enum us_x86_base */
	uint8_t fp;   /* enum us_x86_fp */
	union {
		uint8_t sp;    /* enum us_x86_sp */
		int8_t ra_was; /* of US_RA_SAVED in an exit: where the link register of
				  what was broken off is, in words from the CFA; 0:
				  it is not known */
	};
	uint8_t ra; /* enum us_x86_ra */
};

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

/*
 * Does a CALL that ends there, with a target imm bytes on, only push that address?  So
 * does `call $+5`, which learns the program counter; and one over a few bytes that are
 * never run, but keep a processor there that guesses: Linux makes its indirect jumps
 * so, and fills the buffer that return addresses are guessed from.
 */
bool us_x86_flow_pushes_pc(const struct us_x86_flow *f, us_gva end, int32_t imm);

/* An address to make a rule for. */
struct us_x86_place {
	us_gva pc;
	bool after_call; /* it is a return address: its CALL is what counts */
	us_gva start;	 /* of its function; 0: not known */
	us_gva end;	 /* of its function; 0: not known, all jumps are followed */
	us_gva target;	 /* after_call: where the CALL goes; 0: not known */
};

/* How the address was reached. */
enum us_x86_reach {
	US_REACH_NEVER, /* all paths were followed, none leads there */
	US_REACH_NONE,	/* not, but some paths could not be followed */
	US_REACH_TABLE, /* behind an indirect jump: the rule is likely */
	US_REACH_FLOW,	/* on a path from the start */
};

/* From the start.  rule[0] is the one to use; rule[1] is the same CFA told from the
 * other register, where both know it.  Bounded: a few thousand instructions. */
enum us_x86_reach us_x86_rule_from_start(struct us_x86_flow *f,
					 const struct us_x86_place *at,
					 struct us_x86_rule rule[2]);

enum us_x86_exit {
	US_EXIT_NONE,	/* no path ends: no rule */
	US_EXIT_IRET,	/* leaves by iret or the like: an entry from outside.  The rule,
			   if   any, has rip at CFA - a word, and above it what else the
			   processor pushed */
	US_EXIT_SYSRET, /* leaves by sysret: as above, but only rip is there */
	US_EXIT_BEHIND, /* only paths that go on behind a CALL: may be wrong */
	US_EXIT_RET,
};

/* To a ret; of at->start and at->end only the latter is used. */
enum us_x86_exit us_x86_rule_to_return(struct us_x86_flow *f,
				       const struct us_x86_place *at,
				       struct us_x86_rule *rule);

#endif
