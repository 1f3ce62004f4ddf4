/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_flow.h: what an analysis by link_rule.c has found; between the files of it. */
#ifndef US_UNWIND_LINK_FLOW_H
#define US_UNWIND_LINK_FLOW_H

#include "unwind/code_path.h"
#include "unwind/link_state.h"

struct us_link_flow {
	const struct us_link_machine *machine;
	struct us_code_path path;
	struct us_link_state pending[US_CODE_MAX_PENDING]; /* at a path's slot */
	/* Where a path from a function's start has led to last, and how. */
	struct us_code_place place;
	struct us_link_state arrived;
	uint8_t want;		   /* a register that is asked for, or US_LINK_NO_REG */
	struct us_link_state left; /* at the exit that a path has led to */
};

/* Another stack was taken: the rule by a register that keeps where this one is; *ret is
 * as it was if there is none. */
void us_link_kept_at(const struct us_link_flow *f, const struct us_link_state *st,
		     struct us_code_rule *ret);

#endif
