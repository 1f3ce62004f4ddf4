/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * away.h: runs of samples in which a vCPU did not run guest code (idle, off, waiting
 * for a host CPU, in exits), for formats that show what happened when.
 */
#ifndef US_REPORT_AWAY_H
#define US_REPORT_AWAY_H

#include "profile/timeline.h"

#define US_AWAY_KINDS 128

struct us_away_kind {
	uint8_t state; /* enum us_vcpu_state */
	uint64_t exit; /* for EXIT: its reason; 0: not recorded */
};

struct us_away_run {
	uint64_t from_ns, to_ns; /* to the first sample after it */
	uint64_t samples;
	uint32_t kind;
};

struct us_away_runs {
	struct us_away_run *v; /* in order of time */
	size_t n, cap;
	bool open;				 /* the last run may continue */
	uint64_t last_ns;			 /* of the last sample */
	struct us_away_kind kind[US_AWAY_KINDS]; /* in order of appearance */
	size_t n_kind;
	uint64_t left_out; /* runs left out as the shortest */
};

/* A sample that belongs to a run, or ends one. */
US_MUST_CHECK int us_away_change(struct us_away_runs *r,
				 const struct us_timeline_sample *m);
/* Add the next sample of a lane; *r starts zeroed.  0 or -ENOMEM. */
US_MUST_CHECK static inline int us_away_add(struct us_away_runs *r,
					    const struct us_timeline_sample *m)
{
	if (r->open || m->state != US_VCPU_GUEST)
		return us_away_change(r, m);
	r->last_ns = m->t_ns;
	return 0;
}
/* No more samples.  If there are more than `most` runs, the shortest are left out. */
void us_away_end(struct us_away_runs *r, size_t most);
void us_away_runs_fini(struct us_away_runs *r);

/* "idle", "exit: port I/O, in the VMM".  Returns dst. */
const char *us_away_words(const struct us_away_kind *k, char *dst, size_t size);
bool us_away_same(const struct us_away_kind *a, const struct us_away_kind *b);

#endif
