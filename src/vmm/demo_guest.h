/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * demo_guest.h: a guest of our own whose true profile is known, to check a backend
 * with.
 *
 * A child process with one KVM vCPU in 64-bit mode, 1 MiB of memory and a page of code.
 * It runs three call chains in an endless loop.  Each spends its share of the time in
 * its innermost function.  One of these functions has no frame.  Chain b may run in an
 * address space of its own, with its stack at the same addresses as the others'.  It
 * needs only /dev/kvm, and x86-64.
 */
#ifndef US_VMM_DEMO_GUEST_H
#define US_VMM_DEMO_GUEST_H

#include "base/err.h"
#include "guest/regs.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define US_DEMO_DEPTH  4
#define US_DEMO_CHAINS 3

struct us_demo_function {
	const char *name;
	us_gva start, end;
	/* Its stack: where each caller continues, the outermost last. */
	us_gva caller[US_DEMO_DEPTH];
	unsigned n_caller;
	bool has_frame;
	int chain; /* the chain whose time is spent in it; -1: it only calls */
};

struct us_demo_chain {
	const char *name;
	double share; /* of the time spent in the innermost functions */
};

struct us_demo_guest {
	pid_t pid; /* 0: none */
	struct us_demo_shared *shared;
};

extern const struct us_demo_chain us_demo_chains[US_DEMO_CHAINS];

/* The function there, or NULL. */
const struct us_demo_function *us_demo_find(us_gva pc);
/* The start of each function, ascending, for an unwinder; returns their number. */
size_t us_demo_starts(const us_gva **ret);

/* Start it: it runs when this returns.  It always ends with this process. */
US_MUST_CHECK int us_demo_start(struct us_demo_guest *d, bool two_spaces,
				struct us_err *e);
void us_demo_stop(struct us_demo_guest *d); /* accepts zeroed memory */

/* How many rounds of the loop it has done, by its own count; may be called at any time.
 */
unsigned long us_demo_rounds(const struct us_demo_guest *d);

#endif
