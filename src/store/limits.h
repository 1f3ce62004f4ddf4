/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limits.h: bounds on what is kept of a guest during a recording, and which were
 * reached.
 *
 * A guest can have more of everything than a recording should keep.  Whoever leaves
 * something out counts it here, in any thread.  The writer's thread writes the count as
 * a fact of the recording, and record and report describe it in the same words.
 */
#ifndef US_STORE_LIMITS_H
#define US_STORE_LIMITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum us_limit {
	US_LIMIT_TASKS,
	US_LIMIT_PROCESSES,
	US_LIMIT_THREADS,
	US_LIMIT_SPACES,
	US_LIMIT_FILES,
	US_LIMIT_MAPPINGS,
	US_LIMIT_MAPPINGS_OF_ONE,
	US_LIMIT_NAMES,
	US_LIMIT_RULES,
	US_LIMIT_PLACES,
	US_LIMIT_SYMBOL_FILES,
	US_LIMIT_SYMBOL_DEPTH,
	US_LIMIT_SYMBOL_TIME,
	US_LIMIT_ROOT_TIME,
	US_LIMIT_VCPUS,
	US_LIMIT_SYMBOLS,  /* of a report */
	US_LIMIT_IMPORTED, /* of an import, as the next one */
	US_LIMIT_IMPORTED_OF_ONE,
	US_N_LIMITS
};

struct us_limits {
	struct us_limit_hit {
		_Atomic uint64_t n;	/* how often; 0: it was not reached */
		_Atomic uint64_t bound; /* in the limit's own unit */
	} hit[US_N_LIMITS];
};

/* One more was left out, because bound are there already. */
void us_limit_reached(struct us_limits *l, enum us_limit k, uint64_t bound);

void us_limits_copy(struct us_limits *to, const struct us_limits *from);

/* The key of its fact. */
const char *us_limit_key(enum us_limit k);
/* The fact's value: "TIMES BOUND". */
void us_limit_value(const struct us_limits *l, enum us_limit k, char *ret, size_t size);
/* From a fact's value: what it means and what a user can do.  false: it is no such
 * value. */
bool us_limit_words(enum us_limit k, const char *value, char *ret, size_t size);

#endif
