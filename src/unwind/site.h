/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * site.h: what is known of the addresses met so far, remembered in a table of fixed
 * size.
 *
 * A site is kept by address, and by address space in the lower half, where spaces
 * differ.  Its code bytes are compared with the guest's again every US_SITE_TRUST
 * samples: between, a text that changed under it goes unnoticed.  What is costly, the
 * analysis of the code, is made only when it is asked for.
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
	US_CALL_OUTERMOST, /* no CALL, but where a thread of a language's own begins */
};

/* Whose rule is kept. */
enum us_site_source {
	US_SITE_NEW,  /* nobody's yet */
	US_SITE_CODE, /* that of the code */
	US_SITE_CFI,  /* that of a table */
};

/* May the function be the outermost of a stack?  By its code alone. */
enum us_site_outer {
	US_OUTER_NEW,	  /* not asked yet */
	US_OUTER_NO,	  /* nothing says so */
	US_OUTER_RETURNS, /* from its start and to its return the code tells the same
			     place of a return address: what lies there decides */
	US_OUTER_STAYS,	  /* it never returns, and what lies there decides */
	US_OUTER_OWN,	  /* it loads the stack pointer first, and never returns */
	US_OUTER_AT,	  /* it loads the stack pointer with a constant, and does not go
			     back: where that is now decides.  x86 */
	US_OUTER_JUMP, /* nobody names its start, to which a jump led: whether one did
			  now decides.  With a link register */
};

/* One cache line. */
struct us_site {
	us_gva pc;
	uint64_t code;		 /* the bytes around pc */
	uint64_t page : 40;	 /* of the root; 0 in the upper half; or of the code,
				    if that is shared */
	uint64_t generation : 6; /* of the table's content; 0: a free slot */
	uint64_t outer : 3;	 /* enum us_site_outer */
	uint64_t after_call : 1; /* pc is a return address */
	uint64_t call : 2;	 /* before pc, if after_call: enum us_call */
	uint64_t source : 2;	 /* enum us_site_source */
	uint64_t exit : 3;	 /* of US_SITE_CODE: enum us_code_exit */
	uint64_t guess : 1;	 /* the start was learned from a word on the stack */
	uint64_t tried : 1;	 /* what else could be done was done, to no avail */
	uint64_t at_start : 1;	 /* after_call, but pc is where a function starts */
	uint64_t doubtful : 1;	 /* of US_SITE_CODE: a table that is not trusted
				    has a rule too */
	uint64_t leads : 2;	 /* the CALL there: enum us_code_reach */
	uint64_t narrow : 1;	 /* 32-bit code */
	uint32_t epoch;		 /* when code was compared last */
	int32_t start;	  /* of the function, less pc; US_SITE_NO_START: not known */
	int32_t leads_to; /* where the CALL was followed to, less its target; 0: not
			     looked at */
	int32_t target;	  /* of the CALL, if it is direct, less pc; else where it may
			     lead, US_SITE_NO_NAME: nobody knows, 0: not asked yet */
	union {
		struct us_code_rule rule[2]; /* US_SITE_CODE: the better first; with an
					       exit that is no ret, rule[1] is the
					       rule of the exit */
		struct {
			const struct us_cfi_rule *rule;
			const struct us_cfi_saved *saved;
		} cfi;
	};
};
_Static_assert(sizeof(struct us_site) == 64, "a site is one cache line");

/* Of the function; 0: not known. */
static inline us_gva us_site_start(const struct us_site *s)
{
	return s->start == US_SITE_NO_START ? 0 : s->pc + (us_gva)(int64_t)s->start;
}

/* Of the CALL before pc, if it is direct. */
static inline us_gva us_site_target(const struct us_site *s)
{
	us_gva to = s->pc + (us_gva)(int64_t)s->target;
	return s->narrow ? (uint32_t)to : to;
}

/* ... and not learned from a word on the stack? */
static inline bool us_site_has_start(const struct us_site *s)
{
	return s->start != US_SITE_NO_START && !s->guess;
}

/* Is its code known to leave otherwise than it would after a CALL? */
static inline bool us_site_is_entry(const struct us_site *s)
{
	return s->source == US_SITE_CODE &&
	       (s->exit == US_EXIT_IRET || s->exit == US_EXIT_SYSRET);
}

/* Does anything say that code is there: a CALL, a function's symbol, a table? */
static inline bool us_site_is_known(const struct us_site *s)
{
	return s->call != US_CALL_NONE || s->start != US_SITE_NO_START ||
	       s->source == US_SITE_CFI || s->doubtful;
}

struct us_sites;

/* machine: of an architecture with a link register; NULL: x86.  NULL: no memory. */
struct us_sites *us_sites_new(const struct us_link_machine *machine);
void us_sites_free(struct us_sites *s);

/* Forget all; look functions up in map and rules in cfi from now on.  Either may be
 * NULL. */
void us_sites_set_code(struct us_sites *s, const struct us_code_map *map,
		       const struct us_cfi *cfi);

/* From now on a site of the lower half of which neither map nor cfi know anything is
 * kept by the page of memory that it is in, and so found in all spaces that have it
 * there. */
void us_sites_share(struct us_sites *s);

/* A new sample: what may be spent on analyses in it begins anew.  What an analysis
 * that was cut short says is not remembered. */
void us_sites_begin(struct us_sites *s, struct us_paging *p,
		    const struct us_space *space, unsigned word);

/* What follows in this sample is 32-bit code. */
void us_sites_narrow(struct us_sites *s);

/*
 * What is known of pc.  Never NULL.  Valid until the next call that does not have it as
 * keep (may be NULL).  A new one has the rule of a trusted table, if there is one: then
 * its source is US_SITE_CFI.
 */
struct us_site *us_sites_find(struct us_sites *s, us_gva pc, bool after_call,
			      const struct us_site *keep);

/* Get the rule from the code; then the source is US_SITE_CODE. */
void us_sites_analyse(struct us_sites *s, struct us_site *site);

/* By the code, as us_x86_saved(). */
enum us_code_save us_sites_saved(struct us_sites *s, const struct us_site *site,
				 unsigned reg, bool exit, int32_t *ret_off);

/*
 * The site is code, not behind a CALL, of a routine that saves registers for its caller
 * (gcc -msave-restore).  ret_call: where that CALL is, by its return address (0: not
 * known), and *ret_target where it leads; 0: it is none.
 */
bool us_sites_in_routine(struct us_sites *s, const struct us_site *site, us_gva ra,
			 us_gva *ret_call, us_gva *ret_target);

/* What the code of the site's function does up to there; with a link register only, and
 * if its start is known. */
bool us_sites_entry(struct us_sites *s, const struct us_site *site,
		    struct us_link_entry *ret);

/* As us_link_read_jump(), of the code in that space; with a link register only. */
bool us_sites_jump(struct us_sites *s, const struct us_space *space, us_gva start,
		   struct us_link_entry *ret);

/* As us_link_run_exit(), from pc on; with a link register only. */
bool us_sites_exit(struct us_sites *s, us_gva pc, struct us_link_exit *ret);

/* As us_link_flow_left(); with a link register only. */
bool us_sites_left(struct us_sites *s, us_gva pc, us_gva *ret_to);

/* Has the site's function, called by an entry, kept where the program goes on, when it
 * comes to there?  As us_link_flow_kept(). */
enum us_link_kept us_sites_kept(struct us_sites *s, const struct us_site *site);

/* From now on, in this sample, memory is read in that space; it outlives the sample. */
void us_sites_move(struct us_sites *s, const struct us_space *space);

/* Where the site's function may begin, by the code before it: range bytes of that. */
void us_sites_starts(struct us_sites *s, const struct us_site *site, unsigned range,
		     struct us_code_starts *ret);

/* Its rules are those of the code: may it be the outermost?  Sets site->outer; leaves
 * it US_OUTER_NEW if the start is not known and nothing else says so. */
void us_sites_judge(struct us_sites *s, struct us_site *site);
/* Of US_OUTER_AT: the stack pointer that the code says. */
us_gva us_sites_own_sp(struct us_sites *s, const struct us_site *site);

/* Do all ways through the code tell the same place of the return address? */
bool us_sites_certain(struct us_sites *s, const struct us_site *site);

/* Forget what was found out about the site after this sample, if analyses were cut
 * short in it: another sample may have the time. */
void us_sites_doubt(const struct us_sites *s, struct us_site *site);

/* Were analyses cut short in this sample? */
bool us_sites_spent(const struct us_sites *s);

/* The rule of a table for the site, trusted or not. */
bool us_sites_cfi(const struct us_sites *s, const struct us_site *site,
		  struct us_cfi_row *ret);

/* Is there a CALL before pc, and where does it go? */
enum us_call us_sites_call_before(struct us_sites *s, us_gva pc, us_gva *ret_target);

/* As us_x86_named_call(). */
bool us_sites_named(struct us_sites *s, us_gva pc, us_gva *ret_target);

/* The rules for the site if its function starts there. */
enum us_code_reach us_sites_from(struct us_sites *s, const struct us_site *site,
				 us_gva start, struct us_code_rule rule[2]);

/* Its function starts there: set that. */
void us_sites_learn(struct us_site *site, us_gva start,
		    const struct us_code_rule rule[2]);

/*
 * call is the site of a return address, of a direct CALL; callee is where it should
 * have led.  US_REACH_NEVER: it cannot have, no path from its target comes there.
 */
enum us_code_reach us_sites_leads(struct us_sites *s, struct us_site *call,
				  const struct us_site *callee);

#endif
