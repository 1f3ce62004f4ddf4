/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tally.h: what many comparisons came to, for one way to unwind, and how it is told.
 */
#ifndef US_ORACLE_TALLY_H
#define US_ORACLE_TALLY_H

#include "base/json.h"
#include "classes.h"
#include "symbol/symbol.h"

#define N_EXAMPLE 2
#define N_PLACE	  12
#define N_HOW	  16

/* Where a class was met: the last frame on which both agree. */
struct place {
	us_gva pc;
	uint64_t n;
};

struct example {
	struct us_regs regs;
	struct us_stack ours;
	struct dwfl_stack dwfl;
	unsigned same;
};

struct tally {
	const char *name; /* of the way: "map", "no map" */
	const char *words;
	uint64_t n, whole, dwfl_whole; /* captures; of these: end is the root */
	uint64_t bad_tail;	       /* not ending as the guest itself says */
	uint64_t frames, how[N_HOW];
	uint64_t class[US_N_CLASS];
	uint64_t end[US_N_END];
	struct place place[US_N_CLASS][N_PLACE];
	struct example example[US_N_CLASS][N_EXAMPLE];
};

void tally_add(struct tally *t, struct pair *p);

/* Share of whole stacks, 0 to 1; 1 if there are none at all.  Threads that begin do not
 * count. */
double tally_whole(const struct tally *t);

void tally_print(const struct tally *t, struct us_symbols *names, bool examples);
void tally_json(const struct tally *t, struct us_symbols *names, struct us_json *j);

#endif
