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
	struct us_code_ends ends;
	bool has_table; /* an indirect jump was met, in this state */
	struct us_link_state table;
	/* Where a path from a function's start has led to last, and how. */
	struct us_code_place place;
	struct us_link_state arrived;
	uint8_t want;		   /* a register that is asked for, or US_LINK_NO_REG */
	struct us_link_state left; /* at the exit that a path has led to */
};

/* An indirect jump in this state: it may be a table of a switch. */
void us_link_note_table(struct us_link_flow *f, const struct us_link_state *st);

/* Another stack was taken: the rule by a register that keeps where this one is; *ret is
 * as it was if there is none. */
void us_link_kept_at(const struct us_link_flow *f, const struct us_link_state *st,
		     struct us_code_rule *ret);

/* The stack pointer becomes what was kept on this stack, and so does pc: both are words
 * of it.  False: no rule says so. */
bool us_link_word_rule(const struct us_link_flow *f, const struct us_link_state *st,
		       struct us_link_value pc, struct us_code_rule *ret);

#endif
