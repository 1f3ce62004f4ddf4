/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inside.h: what a Linux guest is and does, in a few words, for `ps --inside`. */
#ifndef US_CMD_INSIDE_H
#define US_CMD_INSIDE_H

#include "cmd/target.h"

#include <stdint.h>

struct us_inside {
	char release[65]; /* of its kernel: "6.1.0-56-cloud-amd64"; "": not known */
	char process[16]; /* the busiest; "": none did anything, or not known */
	uint32_t pid;
	double share;  /* of one CPU, by the guest's own count */
	char why[256]; /* what is not known, and why; "" */
	char hint[256];
};

/* Attaches to the guest, as dump does, and looks at its tasks twice.  Half a second
 * mostly. */
void us_inside_look(const struct us_found *f, struct us_inside *ret);

#endif
