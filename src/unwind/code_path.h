/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_path.h: the code that one analysis goes through: the guest's bytes, a window of
 * them at a time, which addresses were visited, and which paths are still to be
 * followed.  Every address is visited once, and their number is bounded, so the
 * analysis ends whatever the guest's code is.
 */
#ifndef US_UNWIND_CODE_PATH_H
#define US_UNWIND_CODE_PATH_H

#include "guest/paging.h"

#define US_CODE_VISIT_SLOTS 4096 /* a power of two */
#define US_CODE_MAX_VISITED 3072 /* below that: there is always an empty slot */

#define US_CODE_MAX_PENDING 128
#define US_CODE_MAX_ENDS    128

/* Where a path goes on.  How things are there, the analysis keeps in an array of its
 * own, under this slot. */
struct us_code_pending {
	us_gva pc;
	uint64_t order; /* the lowest is followed first */
	bool after_call;
	uint8_t slot; /* below US_CODE_MAX_PENDING */
};

struct us_code_path {
	struct us_paging *paging;
	const struct us_space *space;
	unsigned budget; /* instructions left, in all analyses together */
	unsigned n_visited;
	bool lost; /* a path could not be followed */
	bool away; /* ... for it leads to what is not mapped in this address space */

	us_gva window; /* what bytes holds */
	size_t window_len;
	uint8_t bytes[1024];
	us_gva visited[US_CODE_VISIT_SLOTS]; /* + 1: 0 is an empty slot */
	uint16_t used[US_CODE_MAX_VISITED];  /* the slots of n_visited, to empty them */
	struct us_code_pending pending[US_CODE_MAX_PENDING]; /* with all slots */
	unsigned n_pending;
};

/* Where code goes on behind a jump or a return: perhaps reached by an indirect jump. */
struct us_code_ends {
	us_gva pc[US_CODE_MAX_ENDS];
	unsigned n;
};

/* More than there is room for are left out. */
void us_code_ends_add(struct us_code_ends *e, us_gva pc);
/* The lowest from start to last that was not visited; each once.  False: none is left.
 */
bool us_code_ends_take(struct us_code_ends *e, const struct us_code_path *p,
		       us_gva start, us_gva last, us_gva *ret);

/* Which memory to read code from; drops the window. */
void us_code_path_use(struct us_code_path *p, struct us_paging *paging,
		      const struct us_space *s);

/* A new analysis: nothing was visited, lost, or is to be followed.  Keeps the window
 * and the budget. */
void us_code_path_start(struct us_code_path *p);

/* The bytes from pc on, at least want of them if they can be read and lie in pages that
 * can; *len may be less, 0 too.  Valid until the next call. */
const uint8_t *us_code_path_bytes(struct us_code_path *p, us_gva pc, size_t want,
				  size_t *len);

/* False if it was visited before; or if there is no more room or budget: then it is
 * lost. */
bool us_code_path_visit(struct us_code_path *p, us_gva pc);
bool us_code_path_visited(const struct us_code_path *p, us_gva pc);

/* To be followed later; false if it was visited, or if there is no more room: then it
 * is lost (which can cost a rule, not make one wrong). */
bool us_code_path_pend(struct us_code_path *p, us_gva pc, uint64_t order,
		       bool after_call, uint8_t *ret_slot);
/* The next one; its slot is free again.  False: there is none. */
bool us_code_path_take(struct us_code_path *p, struct us_code_pending *ret);
/* The first at pc, or NULL. */
const struct us_code_pending *us_code_path_find(const struct us_code_path *p,
						us_gva pc);

#endif
