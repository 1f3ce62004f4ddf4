/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moments.h: samples of a profile one by one: when, which vCPU, what it did, where.
 *
 * For views that let their user choose a time, vCPUs or states afterwards.  Of a long
 * recording it is a part, evenly spread: of each us_moments.every samples that follow
 * each other one is taken, at random.  At random, for vCPUs are sampled in turn, and
 * every other sample would be of one vCPU.  How long the recording is turns out at its
 * end, so every is doubled, and half of those taken are dropped, whenever there are too
 * many.  The same recording gives the same ones.  At most 3 MiB.
 */
#ifndef US_PROFILE_MOMENTS_H
#define US_PROFILE_MOMENTS_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>

#define US_MOMENTS_MAX (1 << 17)

/* Keys of samples that have no stack. */
#define US_MOMENT_IDLE UINT32_MAX
#define US_MOMENT_OFF  (UINT32_MAX - 1)

struct us_moment {
	uint64_t t_ns;
	uint32_t key;
	uint32_t weight; /* in units of every */
	uint16_t lane;	 /* of us_profile_lanes() */
};

struct us_moments {
	struct us_moment *v;
	size_t n, cap;
	uint64_t seen;	/* weight so far */
	uint64_t every; /* a power of two */
	uint64_t next;	/* the unit of weight that is taken next */
};

void us_moments_init(struct us_moments *m);
void us_moments_fini(struct us_moments *m); /* accepts a zeroed one */
/* Pass over the next sample if it is not taken; false: it may be. */
static inline bool us_moments_skip(struct us_moments *m, uint32_t weight)
{
	bool skip = m->seen + weight <= m->next;
	m->seen += skip ? weight : 0;
	return skip;
}
/* One that may not be taken; weight: of the sample.  0 or -ENOMEM. */
US_MUST_CHECK int us_moments_add(struct us_moments *m, const struct us_moment *x);

/* One of a profile that was read with us_profile_opts.by_time. */
struct us_profile_moment {
	uint64_t t_ns;
	uint32_t node;	 /* of us_profile_nodes(): innermost; 0: it is idle or off */
	uint32_t weight; /* samples, in units of *ret_every */
	uint16_t lane;	 /* of us_profile_lanes() */
	uint8_t state;	 /* enum us_vcpu_state */
};

/*
 * By vCPU, then by time, then by node; without those that the focus or part leave out.
 * *ret is the caller's to free.  *ret_every: 1 if they are all that there are.  0, or
 * -ENOMEM.
 */
US_MUST_CHECK int us_profile_moments(const struct us_profile *p,
				     struct us_profile_moment **ret, size_t *ret_n,
				     uint64_t *ret_every);

#endif
