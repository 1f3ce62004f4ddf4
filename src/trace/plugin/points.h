/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * points.h: what the plugin hands to QEMU with a callback: a call, a return, an entry,
 * by its address in the guest, and the functions that these name.
 *
 * Each is made once, however often QEMU translates the same code: QEMU keeps the
 * pointer, and never says when it has done with it.  So what is made lasts as long as
 * QEMU.
 */
#ifndef US_TRACE_POINTS_H
#define US_TRACE_POINTS_H

#include "trace/functions.h"
#include "trace/track.h"

struct us_point {
	uint64_t pc;
	struct us_track_site site;
	struct us_track_entry entry;
	uint32_t rest; /* instructions of the block from pc on */
	uint8_t bytes; /* from the address of its access to its return address */
	uint32_t next; /* in its chain of the hash table */
};

struct us_points {
	struct us_functions functions;
	/* Where the addresses of functions go, by their numbers; NULL: nowhere. */
	uint64_t *table;
	uint32_t *n_table;
	bool addresses; /* functions without names are known by their addresses */
	struct us_point *point;
	struct us_track_function *function;
	uint32_t *point_slot, *function_slot;
	uint32_t n_point, n_function;
};

int us_points_init(struct us_points *p, const struct us_functions *f); /* -ENOMEM */

/* The function that this code belongs to; never NULL. */
struct us_track_function *us_points_function_at(struct us_points *p, uint64_t pc);
/* The function that begins there, for code that calls it. */
struct us_track_function *us_points_called(struct us_points *p, uint64_t pc);
/* One that is like this; NULL: there is no more room. */
struct us_point *us_points_intern(struct us_points *p, const struct us_point *like);

#endif
