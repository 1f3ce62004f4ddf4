/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * late.h: samples that were due while a vCPU was busy, but were taken after it had
 * halted.
 *
 * A stop takes time, and a short burst of work may end before it.  Then what ran is
 * unknown, only that something did.  Without these samples all shares of functions
 * would be too low.  Each one therefore counts for the next stack that its vCPU is seen
 * with, if that is within a second.  This is right if bursts end with the same code
 * that they are made of, which is the best available assumption.
 */
#ifndef US_PROFILE_LATE_H
#define US_PROFILE_LATE_H

#include "store/store.h"

#define US_LATE_MOST 256	   /* samples that are kept waiting */
#define US_LATE_NS   1000000000ULL /* after this time the next stack is not used */

struct us_late {
	struct us_sample v[US_LATE_MOST]; /* in order */
	unsigned n;
	uint64_t vcpus; /* bit vcpu % 64: may have samples of it */
};

/* Keep a sample without a stack until its vCPU has one; false: the table is full. */
bool us_late_keep(struct us_late *l, const struct us_sample *s);

/* Take the first sample of this vCPU, or of any if vcpu is UINT16_MAX; false: none. */
bool us_late_take(struct us_late *l, uint16_t vcpu, struct us_sample *ret);

#endif
