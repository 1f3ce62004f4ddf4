/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_path.h: the code that one analysis goes through: a window of the guest's bytes,
 * the addresses that were visited, and the paths that remain to be followed.  Every
 * address is visited once, and the number of addresses is bounded, so the analysis ends
 * whatever the guest's code is.
 */
#ifndef US_UNWIND_CODE_PATH_H
#define US_UNWIND_CODE_PATH_H

#include "guest/paging.h"

#define US_CODE_VISIT_SLOTS 4096 /* a power of two */
#define US_CODE_MAX_VISITED 3072 /* less than slots: one is always empty */

#define US_CODE_MAX_PENDING 128
#define US_CODE_MAX_ENDS    128

/* Where a path continues.  The analysis keeps the state there in an array of its own,
 * at index slot. */
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
	bool away; /* ... because it leads to memory not mapped in this space */

	us_gva window; /* the gva of bytes */
	size_t window_len;
	uint8_t bytes[1024];
	us_gva visited[US_CODE_VISIT_SLOTS]; /* + 1: 0 is an empty slot */
	uint16_t used[US_CODE_MAX_VISITED]; /* the n_visited slots that are not empty */
	struct us_code_pending pending[US_CODE_MAX_PENDING]; /* each slot once */
	unsigned n_pending;
};

/* Code after a jump or a return, which an indirect jump may reach. */
struct us_code_ends {
	us_gva pc[US_CODE_MAX_ENDS];
	unsigned n;
};

/* Left out if there is no room. */
void us_code_ends_add(struct us_code_ends *e, us_gva pc);
/* The lowest one from start to last that was not visited; each is returned once.
 * False: none is left. */
bool us_code_ends_take(struct us_code_ends *e, const struct us_code_path *p,
		       us_gva start, us_gva last, us_gva *ret);

/* Set the memory to read code from; drops the window. */
void us_code_path_use(struct us_code_path *p, struct us_paging *paging,
		      const struct us_space *s);

/* Begin a new analysis: nothing is visited, lost or pending.  Keeps the window and the
 * budget. */
void us_code_path_start(struct us_code_path *p);

/* The bytes from pc on, at least want of them if they can be read; *len may be less,
 * even 0.  Valid until the next call. */
const uint8_t *us_code_path_bytes(struct us_code_path *p, us_gva pc, size_t want,
				  size_t *len);

/* False if pc was visited before, or if no room or budget is left; then p->lost is
 * set. */
bool us_code_path_visit(struct us_code_path *p, us_gva pc);
bool us_code_path_visited(const struct us_code_path *p, us_gva pc);

/* Follow pc later.  False if it was visited, or if no room is left; then p->lost is set
 * (which can cost a rule, but not make one wrong). */
bool us_code_path_pend(struct us_code_path *p, us_gva pc, uint64_t order,
		       bool after_call, uint8_t *ret_slot);
/* Take the next pending path; its slot is free again.  False: there is none. */
bool us_code_path_take(struct us_code_path *p, struct us_code_pending *ret);
/* The first pending path at pc, or NULL. */
const struct us_code_pending *us_code_path_find(const struct us_code_path *p,
						us_gva pc);

#endif
