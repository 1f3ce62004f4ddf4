/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_rule.h: where is the return address, told from the code alone, on architectures
 * that have a link register (aarch64, RISC-V).
 *
 * As x86_rule.h does it: every path is followed, from the function's start to the
 * address, or from the address to a ret; what becomes of the registers is kept as an
 * offset to what the stack pointer, the frame pointer or the link register was.  A rule
 * says US_RA_LINK or US_RA_SAVED.
 */
#ifndef US_UNWIND_LINK_RULE_H
#define US_UNWIND_LINK_RULE_H

#include "unwind/link_entry.h"
#include "unwind/link_exit.h"
#include "unwind/link_insn.h"
#include "unwind/x86_rule.h"

struct us_link_flow;

struct us_link_flow *us_link_flow_new(const struct us_link_machine *m); /* or NULL */
void us_link_flow_free(struct us_link_flow *f); /* accepts NULL */

const struct us_link_machine *us_link_flow_machine(const struct us_link_flow *f);

/* These are as us_x86_flow_use() and its like. */
void us_link_flow_use(struct us_link_flow *f, struct us_paging *p,
		      const struct us_space *s);
void us_link_flow_allow(struct us_link_flow *f, unsigned n_insn);
bool us_link_flow_spent(const struct us_link_flow *f);

enum us_code_reach us_link_rule_from_start(struct us_link_flow *f,
					   const struct us_code_place *at,
					   struct us_code_rule rule[2]);

/* US_EXIT_IRET: it goes on where an exception broke something off.  The rule has that
 * program counter at ra_at, and the stack pointer of before is the CFA. */
enum us_code_exit us_link_rule_to_return(struct us_link_flow *f,
					 const struct us_code_place *at,
					 struct us_code_rule *rule);

/* As us_x86_saved(). */
enum us_code_save us_link_saved(struct us_link_flow *f, const struct us_code_place *at,
				unsigned reg, bool exit, int32_t *ret_off);

/* Does the code from pc on lead straight to the return of a routine (link_insn.h), by
 * what the register is there? */
bool us_link_flow_in_routine(struct us_link_flow *f, us_gva pc);

/*
 * Does the code at pc, behind a CALL, go on to a jump with that CALL's return address
 * still in the link register?  Then what it jumps to has it for its own, and does not
 * return.  Branches are taken to go on.  *ret_to: where it jumps to, which the code
 * itself has to say.
 */
bool us_link_flow_left(struct us_link_flow *f, us_gva pc, us_gva *ret_to);

/* As us_link_read_entry(). */
bool us_link_flow_entry(struct us_link_flow *f, us_gva start, us_gva pc,
			struct us_link_entry *ret);

/* As us_link_read_jump(). */
bool us_link_flow_jump(struct us_link_flow *f, us_gva start, struct us_link_entry *ret);

/* As us_link_run_exit(). */
bool us_link_flow_exit(struct us_link_flow *f, us_gva pc, struct us_link_exit *ret);

/*
 * A function that an entry calls puts what the processor says, of where the exception
 * broke something off, into memory.  Has it done so where the place is?  Each path from
 * at->start is followed.
 */
enum us_link_kept {
	US_LINK_KEPT,	  /* no path leads there without it */
	US_LINK_NOT_KEPT, /* a path does, and keeps it later; none has before */
	US_LINK_KEPT_PERHAPS,
};
enum us_link_kept us_link_flow_kept(struct us_link_flow *f,
				    const struct us_code_place *at);

/* As us_x86_starts(); each is where room is taken, perhaps not the first instruction.
 */
void us_link_starts(struct us_link_flow *f, us_gva pc, unsigned range,
		    struct us_code_starts *ret);

/* As us_x86_stays(). */
bool us_link_stays(struct us_link_flow *f, const struct us_code_place *at,
		   const struct us_code_rule start[2]);

#endif
