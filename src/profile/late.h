/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * late.h: samples that were due while a vCPU was busy, and came when it had halted.
 *
 * A stop takes its time, and a short burst of work may end before it: then nobody knows
 * what ran, only that something did.  Left out, all shares of functions would be too
 * low; so each such sample counts for the stack that its vCPU is seen with next, if
 * that is within a second.  That is right if what a burst ends with is no other than
 * what bursts are made of, which is the best that can be assumed.
 */
#ifndef US_PROFILE_LATE_H
#define US_PROFILE_LATE_H

#include "store/store.h"

#define US_LATE_MOST 256	   /* samples that are kept */
#define US_LATE_NS   1000000000ULL /* after that the next stack tells nothing */

struct us_late {
	struct us_sample v[US_LATE_MOST]; /* in their order */
	unsigned n;
	uint64_t vcpus; /* bit vcpu % 64: there may be some of it */
};

/* Keep a sample without a stack until its vCPU has one; false: there is no room. */
bool us_late_keep(struct us_late *l, const struct us_sample *s);

/* Take the first of this vCPU, or of any if vcpu is UINT16_MAX; false: there is none.
 */
bool us_late_take(struct us_late *l, uint16_t vcpu, struct us_sample *ret);

#endif
