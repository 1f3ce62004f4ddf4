/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inside.h: what a Linux guest is and does, in a few words, for `ps --inside`. */
#ifndef US_CMD_INSIDE_H
#define US_CMD_INSIDE_H

#include "cmd/target.h"

#include <stddef.h>
#include <stdint.h>

struct us_inside {
	char release[65]; /* kernel release: "6.1.0-56-cloud-amd64"; "": not known */
	char process[16]; /* the busiest one; "": all idle, or not known */
	uint32_t pid;
	double share;  /* of one CPU, from the guest's own accounting */
	char why[256]; /* what is not known, and why; "": all is known */
	char hint[256];
};

/*
 * Attaches to the guests, as dump does, a few at a time, and reads each guest's tasks
 * twice.  This usually takes half a second.  Searching for a kernel takes at most
 * US_KERNEL_ATTACH_NS, so that a guest that does not answer does not delay the results
 * of the others.
 */
struct us_insides;

/* f: n guests; must not move until the end.  -ENOMEM. */
US_MUST_CHECK int us_insides_begin(const struct us_found *f, size_t n,
				   struct us_insides **ret, struct us_err *e);
/* Wait for the result of guest i.  It is owned by looks. */
const struct us_inside *us_insides_wait(struct us_insides *looks, size_t i);
/* The index of the guest whose result came k-th: guests that answer come before those
 * that do not. */
size_t us_insides_order(struct us_insides *looks, size_t k);
/* Once all results are known; accepts NULL. */
void us_insides_end(struct us_insides *looks);

#endif
