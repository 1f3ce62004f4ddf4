/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rests.h: the part of a vCPU's rest that lies in a range of time.
 *
 * bpf accounts for the time in which a vCPU sleeps, waits or is off about twenty times
 * a second: such a sample stands for time since the last one of the vCPU that did,
 * spread over all of it.  Where a range of time begins or ends in between, a part of it
 * counts.
 */
#ifndef US_PROFILE_RESTS_H
#define US_PROFILE_RESTS_H

#include "backend/backend.h"
#include "store/store.h"

struct us_rests {
	struct us_rest {
		uint64_t begin_ns, end_ns; /* what the last samples stand for */
	} of[US_MAX_VCPUS];
};

/* Does a sample of this state stand for time since the last one? */
static inline bool us_rests_has(const struct us_sample *s)
{
	return s->state == US_VCPU_HALTED || s->state == US_VCPU_READY ||
	       s->state == US_VCPU_OFF;
}

/*
 * Hot path.  Reduces the weight of such a sample to the part that lies from from_ns on
 * and before to_ns (0: no end), and moves the sample into it.  The samples of a vCPU
 * must come in the order of their times.  False: no part of it does.
 */
bool us_rests_clip(struct us_rests *r, struct us_sample *s, uint64_t from_ns,
		   uint64_t to_ns);

#endif
