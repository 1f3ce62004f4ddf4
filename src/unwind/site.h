/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * site.h: a cache, of fixed size, of what is known of code addresses.
 *
 * The key of a site is its address and, in the lower half, its address space.  Its code
 * bytes are compared with the guest's again every US_SITE_TRUST samples; in between, a
 * change of the code goes unnoticed.  The code is analysed only on demand, because that
 * is costly.
 */
#ifndef US_UNWIND_SITE_H
#define US_UNWIND_SITE_H

#include "unwind/cfi.h"
#include "unwind/link_entry.h"
#include "unwind/link_exit.h"
#include "unwind/link_insn.h"
#include "unwind/link_rule.h"
#include "unwind/unwind.h"
#include "unwind/x86_rule.h"

#define US_SITE_TRUST	 US_CODE_TRUST
#define US_SITE_NO_START INT32_MIN
#define US_SITE_NO_NAME	 INT32_MIN

enum us_call {
	US_CALL_NONE,
	US_CALL_INDIRECT,
	US_CALL_DIRECT,
	US_CALL_OUTERMOST, /* no CALL, but where a language runtime's thread begins */
};

/* Source of the rule in a site. */
enum us_site_source {
	US_SITE_NEW,  /* no rule yet */
	US_SITE_CODE, /* from the code */
	US_SITE_CFI,  /* from a table */
};

/* Can the function be the outermost of a stack?  By its code alone. */
enum us_site_outer {
	US_OUTER_NEW,	  /* not asked yet */
	US_OUTER_NO,	  /* no sign of it */
	US_OUTER_RETURNS, /* from its start and to its return the code gives the same
			     place of the return address: the word there decides */
	US_OUTER_STAYS,	  /* it never returns; the word there decides */
	US_OUTER_OWN,	  /* it loads the stack pointer first and never returns */
	US_OUTER_AT,	  /* it loads the stack pointer with a constant, and does not go
			     back: where the stack pointer is now decides.  x86 */
	US_OUTER_JUMP, /* its start is known only from a jump there: whether a jump led
			  there this time decides.  With a link register */
	US_OUTER_RUNS, /* it never returns, and runs what a switch to a new thread has
			  left for it: the frame pointer decides.  With a link
			  register */
};

/* One cache line. */
struct us_site {
	us_gva pc;
	uint64_t code;	    /* the bytes around pc */
	uint64_t page : 40; /* of the root; 0 in the upper half; the code's own, if that
			       is shared */
	uint64_t generation : 6; /* of the cache's content; 0: a free slot */
	uint64_t outer : 3;	 /* enum us_site_outer */
	uint64_t after_call : 1; /* pc is a return address */
	uint64_t call : 2;	 /* before pc, if after_call: enum us_call */
	uint64_t source : 2;	 /* enum us_site_source */
	uint64_t exit : 3;	 /* of US_SITE_CODE: enum us_code_exit */
	uint64_t guess : 1;	 /* start was learned from a word on the stack */
	uint64_t tried : 1;	 /* all other ways were tried, in vain */
	uint64_t at_start : 1;	 /* after_call, but pc is where a function starts */
	uint64_t doubtful : 1; /* of US_SITE_CODE: an untrusted table has a rule too */
	uint64_t leads : 2;    /* of the CALL there: enum us_code_reach */
	uint64_t narrow : 1;   /* 32-bit code */
	uint32_t epoch;	       /* when `code` was compared last */
	int32_t start;	  /* of the function, less pc; US_SITE_NO_START: not known */
	int32_t leads_to; /* where the CALL was followed to, less its target; 0: not
			     followed yet */
	int32_t target;	  /* of a direct CALL, less pc; else where it may lead,
			     US_SITE_NO_NAME: not known, 0: not asked yet */
	union {
		struct us_code_rule rule[2]; /* US_SITE_CODE: the better one first; if
						the exit is not a ret, rule[1] is the
						exit's rule */
		struct {
			const struct us_cfi_rule *rule;
			const struct us_cfi_saved *saved;
		} cfi;
	};
};
_Static_assert(sizeof(struct us_site) == 64, "a site is one cache line");

/* The start of the function; 0: not known. */
static inline us_gva us_site_start(const struct us_site *s)
{
	return s->start == US_SITE_NO_START ? 0 : s->pc + (us_gva)(int64_t)s->start;
}

/* The target of the CALL before pc, if that is direct. */
static inline us_gva us_site_target(const struct us_site *s)
{
	us_gva to = s->pc + (us_gva)(int64_t)s->target;
	return s->narrow ? (uint32_t)to : to;
}

/* Is the start known, and not learned from a word on the stack? */
static inline bool us_site_has_start(const struct us_site *s)
{
	return s->start != US_SITE_NO_START && !s->guess;
}

/* Does its code leave by iret or sysret, not by a ret? */
static inline bool us_site_is_entry(const struct us_site *s)
{
	return s->source == US_SITE_CODE &&
	       (s->exit == US_EXIT_IRET || s->exit == US_EXIT_SYSRET);
}

/* Is it in an entry of system calls from ring 0?  Then rule[1] is that of
 * us_x86_rule_of_syscall(). */
static inline bool us_site_is_syscall(const struct us_site *s)
{
	return s->source == US_SITE_CODE && s->exit == US_EXIT_SYSCALL;
}

/* Does a CALL, a function's symbol or a table say that code is there? */
static inline bool us_site_is_known(const struct us_site *s)
{
	return s->call != US_CALL_NONE || s->start != US_SITE_NO_START ||
	       s->source == US_SITE_CFI || s->doubtful;
}

struct us_sites;

/* machine: of an architecture with a link register; NULL: x86.  Returns NULL: no
 * memory. */
struct us_sites *us_sites_new(const struct us_link_machine *machine);
void us_sites_free(struct us_sites *s);

/* Forget all sites.  From now on look up functions in map and rules in cfi; either may
 * be NULL. */
void us_sites_set_code(struct us_sites *s, const struct us_code_map *map,
		       const struct us_cfi *cfi);

/* From now on, a site in the lower half that neither map nor cfi know is kept by its
 * page of memory.  It is then found in all address spaces that map this page there. */
void us_sites_share(struct us_sites *s);

/* Begin a sample, with a fresh budget for analyses.  The result of an analysis that was
 * cut short is not remembered. */
void us_sites_begin(struct us_sites *s, struct us_paging *p,
		    const struct us_space *space, unsigned word);

/* From now on in this sample, the code is 32-bit. */
void us_sites_narrow(struct us_sites *s);

/*
 * The site of pc; never NULL.  It stays valid until the next call that does not pass it
 * as keep (which may be NULL).  A new site has the rule of a trusted table, if there is
 * one; its source is then US_SITE_CFI.
 */
struct us_site *us_sites_find(struct us_sites *s, us_gva pc, bool after_call,
			      const struct us_site *keep);

/* Is pc within a function, and not where it begins?  Also true if no image says where
 * its functions are. */
bool us_sites_is_inside(const struct us_sites *s, us_gva pc);

/* Get the rule from the code; sets the source to US_SITE_CODE. */
void us_sites_analyse(struct us_sites *s, struct us_site *site);

/*
 * The site has no way out in its function.  If the code that follows the function
 * leaves by an exception's return, the site is marked by US_EXIT_LABEL, and *rule is
 * that exit's; it has no base if the way is on another stack for a while.
 */
bool us_sites_past_label(struct us_sites *s, struct us_site *site,
			 struct us_code_rule *rule);

/* By the code, as us_x86_saved(). */
enum us_code_save us_sites_saved(struct us_sites *s, const struct us_site *site,
				 unsigned reg, bool exit, int32_t *ret_off);

/*
 * Is the site, which is not a return address, in a routine that saves registers for its
 * caller (gcc -msave-restore)?  ra: the routine's return address.  *ret_call: the
 * address of the CALL of the routine, *ret_target: where it leads; both 0: not known.
 */
bool us_sites_in_routine(struct us_sites *s, const struct us_site *site, us_gva ra,
			 us_gva *ret_call, us_gva *ret_target);

/* us_link_read_entry() from the start of the site's function to the site; with a link
 * register only, and if the start is known. */
bool us_sites_entry(struct us_sites *s, const struct us_site *site,
		    struct us_link_entry *ret);

/* As us_link_read_jump(), for code in that space; with a link register only. */
bool us_sites_jump(struct us_sites *s, const struct us_space *space, us_gva start,
		   struct us_link_entry *ret);

/* As us_link_run_exit(), from pc on; with a link register only. */
bool us_sites_exit(struct us_sites *s, us_gva pc, struct us_link_exit *ret);

/*
 * Does one of the first jumps that us_link_flow_left() finds behind the CALL before pc
 * lead to the site?  *ret_to: the target of that one; 0: the code does not give that of
 * the first, which may be it.  With a link register only.
 */
bool us_sites_left(struct us_sites *s, us_gva pc, const struct us_site *site,
		   us_gva *ret_to);

/* Has the site's function, which an entry calls, stored the program's pc before it
 * comes to the site?  As us_link_flow_kept(). */
enum us_link_kept us_sites_kept(struct us_sites *s, const struct us_site *site);

/* From now on in this sample, read memory in that space, which must outlive the
 * sample. */
void us_sites_move(struct us_sites *s, const struct us_space *space);

/* Where the site's function may begin, judging by range bytes of code before it. */
void us_sites_starts(struct us_sites *s, const struct us_site *site, unsigned range,
		     struct us_code_starts *ret);

/* For a site with rules from the code: can it be the outermost?  Sets site->outer;
 * leaves it US_OUTER_NEW if the start is not known and nothing else decides. */
void us_sites_judge(struct us_sites *s, struct us_site *site);
/* With the start and rules that were learned: does the function never return? */
bool us_sites_stays(struct us_sites *s, const struct us_site *site);
/* As us_link_drops(), for a start that is known; with a link register only. */
bool us_sites_drops(struct us_sites *s, const struct us_site *site);
/* As us_x86_traps(). */
bool us_sites_traps(struct us_sites *s, us_gva pc);
/* As us_x86_saves_all(); x86 only. */
bool us_sites_saves_all(struct us_sites *s, us_gva start);
/* For US_OUTER_AT: the stack pointer according to the code. */
us_gva us_sites_own_sp(struct us_sites *s, const struct us_site *site);

/* Do all paths through the code give the same place of the return address? */
bool us_sites_certain(struct us_sites *s, const struct us_site *site);

/* If analyses were cut short in this sample, forget the site after it: a later sample
 * may have budget left. */
void us_sites_doubt(const struct us_sites *s, struct us_site *site);

/* Were analyses cut short in this sample? */
bool us_sites_spent(const struct us_sites *s);

/* The rule of a table for the site, be the table trusted or not. */
bool us_sites_cfi(const struct us_sites *s, const struct us_site *site,
		  struct us_cfi_row *ret);

/* Is there a CALL before pc, and where does it go? */
enum us_call us_sites_call_before(struct us_sites *s, us_gva pc, us_gva *ret_target);

/* As us_x86_named_call(). */
bool us_sites_named(struct us_sites *s, us_gva pc, us_gva *ret_target);

/* The rules for the site if its function starts there. */
enum us_code_reach us_sites_from(struct us_sites *s, const struct us_site *site,
				 us_gva start, struct us_code_rule rule[2]);

/* Set the start of the site's function. */
void us_sites_learn(struct us_site *site, us_gva start,
		    const struct us_code_rule rule[2]);

/* Does the function there call a tracer before it does anything else? */
bool us_sites_is_traced(const struct us_sites *s, us_gva start);

/*
 * Can the direct CALL before call->pc have led to callee?  call: the site of a return
 * address.  US_REACH_NEVER: no, no path from its target leads there.
 */
enum us_code_reach us_sites_leads(struct us_sites *s, struct us_site *call,
				  const struct us_site *callee);

#endif
