/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owner_lanes.h: the samples of the busiest threads of a Linux guest, over all vCPUs,
 * for formats that have a row for each thread.
 */
#ifndef US_REPORT_OWNER_LANES_H
#define US_REPORT_OWNER_LANES_H

#include "profile/profile.h"

struct us_owner_lane {
	char *name; /* "worker (108) of sh (107)" */
	char *process;
	uint32_t tgid; /* of the process; 0: owner unknown */
	uint64_t weight;
	struct us_owner_sample {
		uint64_t t_ns;
		uint32_t node, weight; /* node: in the call tree */
	} * v;			       /* by time */
	size_t n;
};

struct us_owner_lanes {
	struct us_owner_lane *v; /* most weight first */
	size_t n;
};

/* At most `most` lanes.  None if the recording has no threads, or p was read without
 * timeline.  0, or -ENOMEM and *ret is empty. */
US_MUST_CHECK int us_owner_lanes(const struct us_profile *p, size_t most,
				 struct us_owner_lanes *ret);
void us_owner_lanes_fini(struct us_owner_lanes *l); /* accepts a zeroed one */

#endif
