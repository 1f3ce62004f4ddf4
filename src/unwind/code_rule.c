/* SPDX-License-Identifier: GPL-2.0-or-later */
/* code_rule.c: see code_rule.h. */
#include "unwind/code_rule.h"

#include "unwind/code_map.h"

bool us_code_place_has(const struct us_code_place *at, us_gva pc)
{
	return at->end == 0 || (pc >= at->start && pc < at->end);
}

bool us_code_place_runs_out(const struct us_code_place *at, us_gva pc, us_gva next)
{
	return pc < at->end && next >= at->end;
}

bool us_code_place_is_cut(const struct us_code_place *at, us_gva pc)
{
	return at->map && us_code_map_is_cut(at->map, at->root, pc);
}

bool us_code_slot(int64_t off, int16_t *ret)
{
	int64_t slot = off % 4 ? off * 2 + 1 : off / 4 * 2;
	*ret = (int16_t)slot;
	return *ret == slot;
}

bool us_code_same_cfa(const struct us_code_rule *found,
		      const struct us_code_rule two[2])
{
	for (unsigned i = 0; i < 2; i++)
		if (us_code_same_base(found, &two[i]))
			return true;
	return false;
}

bool us_code_exit_take(struct us_code_rule *rule, enum us_code_exit *how,
		       const struct us_code_rule *found, bool behind)
{
	if (*how == US_EXIT_NONE || found->fp != US_FP_LOST) {
		*rule = *found;
		*how = behind ? US_EXIT_BEHIND : US_EXIT_RET;
	}
	return found->fp != US_FP_LOST;
}
