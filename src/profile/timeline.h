/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timeline.h: all samples of a profile with their times, for formats that show what
 * happened when.
 *
 * With us_profile_opts.timeline, samples are kept as they are read: separately for each
 * vCPU of a recording, and, except for a few, in eight bytes each.  With more than
 * US_TIMELINE_MOST samples, reading fails with -E2BIG, and the message says how to ask
 * for a part.
 */
#ifndef US_PROFILE_TIMELINE_H
#define US_PROFILE_TIMELINE_H

#include "profile/profile.h"

#define US_TIMELINE_MOST (24U << 20) /* samples */

struct us_timeline_sample {
	uint64_t t_ns;	 /* on the profile's time axis; never goes back */
	uint32_t weight; /* number of samples that it stands for */
	uint8_t state;	 /* enum us_vcpu_state; HALTED also if the stack says so */
	uint32_t key;	 /* number of its stack: us_profile_stack.key */
	uint32_t node;	 /* in the call tree; 0: not in it: idle, off or filtered */
	uint64_t exit;	 /* exit reason (us_exit_words()); 0: not recorded */
};

/* A sample: its key, then its weight and the microseconds since the one before.  If
 * these are too large, two more entries follow (timeline.c). */
struct us_timeline_entry {
	uint32_t key, rest;
};

struct us_timeline_cursor {
	const struct us_profile *p;
	const struct us_timeline_entry *at, *end;
	uint64_t t_us, last_ns;
};

/* Number of samples of a lane; 0 without opts.timeline. */
uint64_t us_timeline_count(const struct us_profile *p, size_t lane);
/* A cursor at a lane's first sample. */
struct us_timeline_cursor us_timeline_of(const struct us_profile *p, size_t lane);
/* The next sample; false: none. */
bool us_timeline_next(struct us_timeline_cursor *c, struct us_timeline_sample *ret);

#endif
