/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moments.h: single samples of a profile: when, which vCPU, what it did, where.
 *
 * They are for views in which the user chooses a time, vCPUs or states afterwards.  A
 * long recording keeps a part of them, evenly spread: of each us_moments.every
 * successive samples it takes one at random.  It must be random because vCPUs are
 * sampled in turn: every other sample, for example, could always be of the same vCPU.
 * The length of the recording is known only at its end.  Whenever there are too many
 * samples, `every` is doubled and half of those taken are dropped.  The same recording
 * always gives the same samples.  At most 3 MiB.
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
	uint32_t weight; /* in units of `every` */
	uint16_t lane;	 /* of us_profile_lanes() */
};

struct us_moments {
	struct us_moment *v;
	size_t n, cap;
	uint64_t seen;	/* total weight so far */
	uint64_t every; /* a power of two */
	uint64_t next;	/* unit of weight that is taken next */
};

void us_moments_init(struct us_moments *m);
void us_moments_fini(struct us_moments *m); /* accepts a zeroed one */
/* Skip the next sample if it is certainly not taken.  False: it may be, so call
 * us_moments_add(). */
static inline bool us_moments_skip(struct us_moments *m, uint32_t weight)
{
	bool skip = m->seen + weight <= m->next;
	m->seen += skip ? weight : 0;
	return skip;
}
/* Add a sample, which may or may not be taken; x->weight: the sample's own.  0 or
 * -ENOMEM. */
US_MUST_CHECK int us_moments_add(struct us_moments *m, const struct us_moment *x);

/* A sample of a profile that was read with us_profile_opts.by_time. */
struct us_profile_moment {
	uint64_t t_ns;
	uint32_t node;	 /* innermost, in us_profile_nodes(); 0: idle or off */
	uint32_t weight; /* number of samples, in units of *ret_every */
	uint16_t lane;	 /* of us_profile_lanes() */
	uint8_t state;	 /* enum us_vcpu_state */
};

/*
 * Sorted by vCPU, time, node; without samples that the focus or part excludes.  *ret is
 * the caller's to free.  *ret_every: 1 if all samples are there.  0, or -ENOMEM.
 */
US_MUST_CHECK int us_profile_moments(const struct us_profile *p,
				     struct us_profile_moment **ret, size_t *ret_n,
				     uint64_t *ret_every);

#endif
