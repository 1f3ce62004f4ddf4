/* SPDX-License-Identifier: GPL-2.0-or-later */
/* site_choose.c: which of a site's rules by its code to use. */
#include "unwind/site_priv.h"

/* Between two threads: rsp was loaded, rbp not yet.  Only the code to the return shows
 * where rsp points now; rbp is still of the stack that was left. */
static bool is_switch(const struct us_site *site, const struct us_code_rule start[2],
		      const struct us_code_rule *back)
{
	return site->exit == US_EXIT_RET && back->base == US_BASE_SP &&
	       start[0].base == US_BASE_FP && start[1].base == US_BASE_NONE;
}

/* The code loads another return address, from above where it found the stack pointer,
 * without storing its own there: a jump has led to its start, with a link register that
 * means nothing any more (RISC-V: gcc -msave-restore). */
static bool is_reloaded(const struct us_site *site, const struct us_code_rule start[2],
			const struct us_code_rule *back)
{
	return site->exit == US_EXIT_RET && start[0].ra == US_RA_LINK &&
	       back->ra == US_RA_SAVED;
}

/* x86: an entry has taken another stack, and goes back by its frame pointer.  Which of
 * the two stacks is above the other has no meaning. */
static bool is_back_from_away(const struct us_code_rule start[2],
			      const struct us_code_rule *back)
{
	return start[0].base == US_BASE_FP && start[0].sp == US_SP_LOST &&
	       start[0].ra == US_RA_BELOW && back->base == US_BASE_FP &&
	       back->sp == US_SP_CFA;
}

bool us_site_keeps_back(const struct us_site *site, const struct us_code_rule start[2],
			const struct us_code_rule *back)
{
	return is_switch(site, start, back) || is_reloaded(site, start, back);
}

void us_site_choose(struct us_site *site, enum us_code_reach reach,
		    const struct us_code_rule start[2], const struct us_code_rule *back)
{
	if (site->exit == US_EXIT_IRET || site->exit == US_EXIT_SYSRET) {
		site->rule[0] = start[0];
		site->rule[1] = *back;
		if (is_back_from_away(start, back))
			site->rule[1].sp = US_SP_LOST;
		return;
	}
	bool differ = back->base && !us_code_same_cfa(back, start);
	if (reach <= US_REACH_NONE) {
		site->rule[0] = *back;
		site->rule[1] = (struct us_code_rule){ .fp = US_FP_LOST };
		return;
	}
	site->rule[0] = start[0];
	site->rule[1] = differ ? *back : start[1];
	if (start[0].base == US_BASE_NONE) {
		site->rule[0] = *back;
		site->rule[1] = start[1];
	} else if (us_site_keeps_back(site, start, back)) {
		site->rule[0] = *back;
		site->rule[1].base = US_BASE_NONE;
	} else if (differ && reach == US_REACH_TABLE && site->exit == US_EXIT_RET) {
		site->rule[0] = *back;
		site->rule[1] = start[0];
	}
}
