/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stretches.h: some stretches of a recording, sample by sample.
 *
 * Single samples are needed to find how much neighbours differ, but not all of them.
 * 16 to 32 stretches of US_STRETCH samples are kept, at equal distances over the whole
 * recording.  Its length is known only at its end.  Whenever there are too many
 * stretches, every other one is dropped and the distance doubled.  At most half a MB.
 */
#ifndef US_PROFILE_STRETCHES_H
#define US_PROFILE_STRETCHES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_STRETCH	 1024
#define US_STRETCHES_MAX 32

#define US_STRETCH_IDLE UINT32_MAX /* keys of samples that have no stack */
#define US_STRETCH_OFF	(UINT32_MAX - 1)

struct us_stretch_sample {
	uint64_t t_ns;
	uint32_t key;
	uint16_t vcpu, weight; /* at most UINT16_MAX */
};

struct us_stretches {
	struct us_stretch_sample *v;
	size_t n, cap;
	uint64_t seen;	   /* samples so far */
	unsigned distance; /* one in this many stretches is kept */
};

void us_stretches_init(struct us_stretches *s);
void us_stretches_fini(struct us_stretches *s);
/* Skip the next sample if its stretch is certainly not kept.  False: it may be kept, so
 * call us_stretches_add(). */
static inline bool us_stretches_skip(struct us_stretches *s)
{
	bool skip = s->seen / US_STRETCH & (s->distance - 1);
	s->seen += skip;
	return skip;
}
/* Add a sample, which may or may not be kept.  0 or -ENOMEM. */
US_MUST_CHECK int us_stretches_add(struct us_stretches *s,
				   const struct us_stretch_sample *x);

#endif
