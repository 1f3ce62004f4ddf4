/* SPDX-License-Identifier: GPL-2.0-or-later */
/* site_priv.h: what the files of the cache of sites (site.h) share. */
#ifndef US_UNWIND_SITE_PRIV_H
#define US_UNWIND_SITE_PRIV_H

#include "unwind/site.h"

#define US_SITE_SET_BITS 12
#define US_SITE_WAYS	 4
#define US_SITE_SAVES	 256 /* a power of two */

/* What a site's function has done with a register. */
struct us_site_save {
	us_gva pc;
	us_gpa page;
	uint32_t epoch, generation; /* 0: a free slot */
	int32_t off;
	uint8_t reg, how; /* enum us_code_save */
	bool after_call, exit, narrow;
};

struct us_sites {
	struct us_code_map map;
	const struct us_cfi *cfi;  /* may be NULL */
	struct us_x86_flow *flow;  /* NULL: there is a link register */
	struct us_link_flow *link; /* NULL: x86 */
	struct us_paging *paging;  /* of the sample, like the next two */
	const struct us_space *space;
	unsigned word;
	uint32_t generation;
	bool shared; /* sites of programs go by their page of memory */
	struct us_site_save save[US_SITE_SAVES];
	/* Most of each hash, so that a look-up reads only the site that it finds. */
	uint16_t tag[1 << US_SITE_SET_BITS][US_SITE_WAYS];
	_Alignas(64) struct us_site site[1 << US_SITE_SET_BITS][US_SITE_WAYS];
};

/* Analyses of code read the sample's guest from now on. */
void us_sites_use(struct us_sites *s);

/* The site's place in its function, if it is known where that begins or ends. */
struct us_code_place us_sites_place(const struct us_sites *s,
				    const struct us_site *site);

/* The rules at a place, by the paths from the start of its function. */
enum us_code_reach us_sites_rule_from_start(struct us_sites *s,
					    const struct us_code_place *at,
					    struct us_code_rule rule[2]);
/* The same where at->start need not be known, or is in code of another mode: *at then
 * gets the start behind the far jump from there. */
enum us_code_reach us_sites_rule_from_any_start(struct us_sites *s,
						struct us_code_place *at,
						struct us_code_rule rule[2]);
/* Does the function at at->start, with those rules there, never return from the
 * place? */
bool us_sites_stay(struct us_sites *s, const struct us_code_place *at,
		   const struct us_code_rule start[2]);
/* The rule at a place, by a path from there to where the function is left. */
enum us_code_exit us_sites_rule_to_return(struct us_sites *s,
					  const struct us_code_place *at,
					  struct us_code_rule *rule);
/* Does the rule to the return count alone, whatever the rules from the start say? */
bool us_site_keeps_back(const struct us_site *site, const struct us_code_rule start[2],
			const struct us_code_rule *back);
/* Choose among the rules from the start and the rule to the return, by which site->exit
 * was found. */
void us_site_choose(struct us_site *site, enum us_code_reach reach,
		    const struct us_code_rule start[2],
		    const struct us_code_rule *back);

#endif
