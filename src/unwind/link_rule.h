/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_rule.h: finds the return address from the code alone, on architectures that have
 * a link register (aarch64, RISC-V).
 *
 * As in x86_rule.h, every path is followed, from the function's start to the address,
 * or from the address to a ret.  Register values are kept as offsets from the initial
 * stack pointer, frame pointer or link register.  A rule says US_RA_LINK or
 * US_RA_SAVED.
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

/* Like us_x86_flow_use() and the functions after it. */
void us_link_flow_use(struct us_link_flow *f, struct us_paging *p,
		      const struct us_space *s);
void us_link_flow_allow(struct us_link_flow *f, unsigned n_insn);
bool us_link_flow_spent(const struct us_link_flow *f);

enum us_code_reach us_link_rule_from_start(struct us_link_flow *f,
					   const struct us_code_place *at,
					   struct us_code_rule rule[2]);

/* US_EXIT_IRET: an exception's return.  The rule has the interrupted program counter at
 * ra_at; the interrupted stack pointer is the CFA. */
enum us_code_exit us_link_rule_to_return(struct us_link_flow *f,
					 const struct us_code_place *at,
					 struct us_code_rule *rule);

/* For a place from where the code leads into the next function of the map, at at->end:
 * do all ways lead to an exception's return, with one rule?  What a CALL at the end is
 * followed by must not look like a way in. */
bool us_link_rule_past_label(struct us_link_flow *f, const struct us_code_place *at,
			     struct us_code_rule *rule);

#define US_LINK_STATE US_LINK_N_REG

/* As us_x86_saved().  US_LINK_STATE in place of a register, with exit: where the state
 * of the processor is that the exit restores (SPSR). */
enum us_code_save us_link_saved(struct us_link_flow *f, const struct us_code_place *at,
				unsigned reg, bool exit, int32_t *ret_off);

/* Does the code from pc on lead straight to the return of a routine (link_insn.h), by
 * the value that the link register of routines has at pc? */
bool us_link_flow_in_routine(struct us_link_flow *f, us_gva pc);

/*
 * Does the code from pc, behind a CALL, lead to a jump with that CALL's return address
 * still in the link register?  Then the jump's target has this as its own return
 * address, and never returns.  Branches are assumed not taken.  *ret_to: the jump's
 * target, or 0 if the code does not give it, as in code that has relocated itself.  n:
 * so many such jumps before it are followed.
 */
bool us_link_flow_left(struct us_link_flow *f, us_gva pc, unsigned n, us_gva *ret_to);

/*
 * Does the straight code from at->start to the CALL before the place run what a
 * register has that functions preserve, as it was when that code was entered, and keep
 * no return address?  No caller leaves anything there for what it calls: the switch to
 * a new thread has loaded it.
 */
bool us_link_runs(struct us_link_flow *f, const struct us_code_place *at);

/* Does the straight code from at->start come to the place, and then put 0 in the link
 * register, with the return address kept nowhere?  It can return to nobody then. */
bool us_link_drops(struct us_link_flow *f, const struct us_code_place *at);

/* As us_link_read_entry(). */
bool us_link_flow_entry(struct us_link_flow *f, us_gva start, us_gva pc,
			struct us_link_entry *ret);

/* As us_link_read_jump(). */
bool us_link_flow_jump(struct us_link_flow *f, us_gva start, struct us_link_entry *ret);

/* As us_link_run_exit(). */
bool us_link_flow_exit(struct us_link_flow *f, us_gva pc, struct us_link_exit *ret);

/*
 * A function that an entry calls stores the interrupted program counter, which it reads
 * from the processor, in memory.  Has it done so when it comes to the place?  Follows
 * each path from at->start.
 */
enum us_link_kept {
	US_LINK_KEPT,	  /* no path leads there without storing it */
	US_LINK_NOT_KEPT, /* a path does, and stores it later; none stores it before */
	US_LINK_KEPT_PERHAPS,
};
enum us_link_kept us_link_flow_kept(struct us_link_flow *f,
				    const struct us_code_place *at);

/* As us_x86_starts(); each is where stack space is allocated, which may not be the
 * first instruction. */
void us_link_starts(struct us_link_flow *f, us_gva pc, unsigned range,
		    struct us_code_starts *ret);

/* As us_x86_stays(). */
bool us_link_stays(struct us_link_flow *f, const struct us_code_place *at,
		   const struct us_code_rule start[2]);

#endif
