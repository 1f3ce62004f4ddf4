/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * site.h: what is known of the addresses met so far, remembered in a table of fixed
 * size.
 *
 * A site is kept by address, and by address space in the lower half, where spaces
 * differ.  Its code bytes are compared with the guest's again every
 * US_SITE_TRUST samples: between, a text that changed under it goes unnoticed.
 */
#ifndef US_UNWIND_SITE_H
#define US_UNWIND_SITE_H

#include "unwind/unwind.h"
#include "unwind/x86_rule.h"

#define US_SITE_TRUST 64 /* samples */

enum us_call {
	US_CALL_NONE,
	US_CALL_INDIRECT,
	US_CALL_DIRECT,
};

struct us_site {
	us_gva pc;
	us_gpa root;
	us_gva start;  /* of the function; 0: not known */
	us_gva target; /* of the CALL before pc, if direct */
	uint64_t code; /* the bytes around pc */
	uint32_t epoch;
	bool valid;
	bool after_call; /* pc is a return address */
	uint8_t call;	 /* before pc, if after_call: enum us_call */
	uint8_t exit;	 /* enum us_x86_exit */
	bool guess;	 /* the start was learned from a word on the stack */
	bool tried;	 /* to learn the start from the stack */
	bool at_start;	 /* after_call, but pc is itself where a function starts */
	us_gva leads_to; /* the CALL was found to lead to that function ... */
	bool leads;	 /* ... or not to */
	struct us_x86_rule rule[2]; /* the better first */
};

struct us_sites;

struct us_sites *us_sites_new(const struct us_code_map *map); /* NULL: no memory */
void us_sites_free(struct us_sites *s);
void us_sites_set_map(struct us_sites *s, const struct us_code_map *map);

/* A new sample: what may be spent on analyses in it begins anew.  What an analysis
 * that was cut short says is not remembered. */
void us_sites_begin(struct us_sites *s);

/* What is known of pc; analyses the code if it was not met before.  Never NULL;
 * valid until the next call. */
const struct us_site *us_sites_find(struct us_sites *s, struct us_paging *p,
				    const struct us_space *space, us_gva pc,
				    bool after_call);

/* Is there a CALL before pc, and where does it go? */
enum us_call us_sites_call_before(struct us_paging *p, const struct us_space *space,
				  us_gva pc, us_gva *ret_target);

/* The rules for the site if its function starts there. */
enum us_x86_reach us_sites_from(struct us_sites *s, struct us_paging *p,
				const struct us_space *space,
				const struct us_site *site, us_gva start,
				struct us_x86_rule rule[2]);

/* Its function starts there: set that in *site, and remember it. */
void us_sites_learn(struct us_sites *s, struct us_site *site, us_gva start,
		    const struct us_x86_rule rule[2]);

/*
 * call is the site of a return address, of a direct CALL; callee is where it should
 * have led.  False if it cannot have: no path from its target comes there.
 */
bool us_sites_leads(struct us_sites *s, struct us_paging *p,
		    const struct us_space *space, us_gva call,
		    const struct us_site *callee);

/* Do not try again to learn the start: set that in *site, and remember it. */
void us_sites_tried(struct us_sites *s, struct us_site *site);

#endif
