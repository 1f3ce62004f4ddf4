/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timeline.h: the samples of a profile one by one, with their times, for formats that
 * show what happened when.
 *
 * With us_profile_opts.timeline they are kept as they are read, eight bytes each but
 * for a few, those of a vCPU of a recording for themselves.  At most US_TIMELINE_MOST
 * of them, else reading ends with -E2BIG and says how to ask for a part.
 */
#ifndef US_PROFILE_TIMELINE_H
#define US_PROFILE_TIMELINE_H

#include "profile/profile.h"

#define US_TIMELINE_MOST (24U << 20) /* samples */

struct us_timeline_sample {
	uint64_t t_ns;	 /* on the profile's axis of time; never less than before */
	uint32_t weight; /* samples that it stands for */
	uint8_t state;	 /* enum us_vcpu_state; HALTED too where the stack told so */
	uint32_t key;	 /* its stack has this number: us_profile_stack.key */
	uint32_t node;	 /* of the call tree; 0: not in it: idle, off or filtered */
	uint64_t exit;	 /* what it left the guest for; 0: not told (us_exit_words()) */
};

/* Of a sample: its key, and its weight and microseconds since the one before.  Where
 * these are too many, two more follow (timeline.c). */
struct us_timeline_entry {
	uint32_t key, rest;
};

struct us_timeline_cursor {
	const struct us_profile *p;
	const struct us_timeline_entry *at, *end;
	uint64_t t_us, last_ns;
};

/* How many samples a lane has; 0 without opts.timeline. */
uint64_t us_timeline_count(const struct us_profile *p, size_t lane);
/* At the first one of a lane. */
struct us_timeline_cursor us_timeline_of(const struct us_profile *p, size_t lane);
/* The next one; false: there is none. */
bool us_timeline_next(struct us_timeline_cursor *c, struct us_timeline_sample *ret);

#endif
