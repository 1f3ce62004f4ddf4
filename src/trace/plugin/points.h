/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * points.h: the data that the plugin passes to QEMU with a callback: a call, a return,
 * an entry, by its address in the guest, and the functions that these refer to.
 *
 * Each is made once, however often QEMU translates the same code.  QEMU keeps the
 * pointer and never says when it is done with it, so these objects live as long as
 * QEMU.
 */
#ifndef US_TRACE_POINTS_H
#define US_TRACE_POINTS_H

#include "trace/functions.h"
#include "trace/track.h"

#define US_POINTS_MAX (1U << 22)

struct us_point {
	uint64_t pc; /* 0: many share this point */
	struct us_track_site site;
	struct us_track_entry entry;
	uint32_t rest; /* instructions of the block from pc to its end */
	uint8_t bytes; /* offset of the return address from the accessed address */
	uint32_t next; /* next point in its hash chain */
};

/* What was translated at the function's address: bits. */
enum us_point_compared {
	US_POINT_SAME = 1,   /* the image's code */
	US_POINT_DIFFER = 2, /* other code */
};

struct us_points {
	struct us_functions functions;
	/* Where the addresses of functions are stored, by number; NULL: nowhere. */
	uint64_t *table;
	uint32_t *n_table;
	bool addresses; /* functions without names are identified by address */
	struct us_point *point;
	struct us_track_function *function;
	uint32_t *point_slot, *function_slot;
	uint8_t *compared; /* for each range: enum us_point_compared */
	uint32_t n_point, n_function;
	uint64_t n_full; /* times that there was no room for one more */
};

int us_points_init(struct us_points *p, const struct us_functions *f); /* -ENOMEM */

/* Addresses are in their layer (trace/functions.h). */
/* The function that contains pc; never NULL. */
struct us_track_function *us_points_function_at(struct us_points *p, uint64_t pc);
/* Does a function of any layer contain pc, a gva? */
bool us_points_any_at(const struct us_points *p, uint64_t pc);
/* The function that begins at pc, for code that calls it. */
struct us_track_function *us_points_called(struct us_points *p, uint64_t pc);
/* The point that equals this one; NULL: no more room. */
struct us_point *us_points_intern(struct us_points *p, const struct us_point *like);

#endif
