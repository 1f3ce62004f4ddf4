/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inside.h: what a Linux guest is and does, in a few words, for `ps --inside`. */
#ifndef US_CMD_INSIDE_H
#define US_CMD_INSIDE_H

#include "cmd/target.h"

#include <stddef.h>
#include <stdint.h>

struct us_inside {
	char release[65]; /* of its kernel: "6.1.0-56-cloud-amd64"; "": not known */
	char process[16]; /* the busiest; "": none did anything, or not known */
	uint32_t pid;
	double share;  /* of one CPU, by the guest's own count */
	char why[256]; /* what is not known, and why; "" */
	char hint[256];
};

/*
 * Attaches to the guests, as dump does, to a few at a time, and looks twice at the
 * tasks of each.  Half a second mostly; a kernel is searched for US_KERNEL_ATTACH_NS at
 * most, so that a guest that answers nothing does not hold up what is said of the
 * others.
 */
struct us_insides;

/* f: of n guests, stays where it is until the end.  -ENOMEM. */
US_MUST_CHECK int us_insides_begin(const struct us_found *f, size_t n,
				   struct us_insides **ret, struct us_err *e);
/* What was found of the i-th, once it is known.  Its owner is looks. */
const struct us_inside *us_insides_wait(struct us_insides *looks, size_t i);
/* The number of the guest that was known as the k-th: those that answer come before
 * those that do not. */
size_t us_insides_order(struct us_insides *looks, size_t k);
void us_insides_end(struct us_insides *looks); /* once all are known; accepts NULL */

#endif
