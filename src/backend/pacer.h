/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pacer.h: when a backend that asks looks at which vCPU.
 *
 * Each vCPU has its own next look, at a random distance (uniform in 0.5 to 1.5 of the
 * interval, from the seed) so that no guest runs in step with it.  The distance is
 * counted from the guest's release, not from the previous due time: however slow a
 * look is, the guest always makes progress.  Looks that this costs are counted as late.
 *
 * The budget: stolen time over observed time stays below budget_ppm.  When the sum
 * of a sliding second exceeds it, the interval grows until it fits, and shrinks again
 * when there is room; looks that this costs are counted as backed off.
 */
#ifndef US_BACKEND_PACER_H
#define US_BACKEND_PACER_H

#include "backend/backend.h"

struct us_pacer {
	struct us_schedule schedule;
	uint64_t interval_ns, start_ns;
	uint64_t random;
	unsigned n_slot; /* vCPUs, or 1 for a backend that stops them all at once */
	uint64_t due_ns[US_MAX_VCPUS]; /* next look; UINT64_MAX: never */
	double stretch;		       /* >= 1: how far the budget has slowed us down */
	struct us_backend_counts counts;
	uint64_t window_ns, window_stolen_ns;
};

/* weight: vCPUs that one look stops and samples (1, or all of them). */
void us_pacer_init(struct us_pacer *p, const struct us_schedule *s, unsigned n_slot,
		   unsigned weight);

/* The slot that is due next, and when. */
unsigned us_pacer_next(const struct us_pacer *p, uint64_t *ret_due_ns);

/* Sleep until t_ns or a signal; 0, or -EINTR. */
int us_pacer_sleep(uint64_t t_ns);

/* The look at slot is over and took stolen_ns of the guest; now_ns is its release. */
void us_pacer_done(struct us_pacer *p, unsigned slot, uint64_t now_ns,
		   uint64_t stolen_ns);

void us_pacer_counts(const struct us_pacer *p, uint64_t now_ns,
		     struct us_backend_counts *ret);

#endif
