/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pacer.h: when a backend that asks samples which vCPU.
 *
 * A slot is what one sample stops: a vCPU, or all of them at once.  Each slot has its
 * own next sample, at a random distance (uniform in 0.5 to 1.5 of the interval, from
 * the seed) so that no guest runs in step with it.  The distance is counted from the
 * guest's release: however slow a sample is, the guest always makes progress.  A
 * wake-up that came late is made good in the next distance, by half of it at most.
 * Looks that slow samples and late wake-ups cost are counted as late.
 *
 * The budget holds for each slot by itself: the time stolen from it in any second
 * stays below budget_ppm, or exceeds it by one sample at most.  The distance grows with
 * the mean cost of the samples of the last quarter of a second (of 16 at least) until
 * they fit, and shrinks as they get cheaper; samples that cost nothing do not count in
 * the mean, so that an idle guest is looked at as often as a busy one and the idle
 * share stays true.  Looks that the budget costs are counted as backed off.
 *
 * No function but us_pacer_sleep() reads a clock: times are passed in.
 */
#ifndef US_BACKEND_PACER_H
#define US_BACKEND_PACER_H

#include "backend/backend.h"

#define US_PACER_BUCKETS 32 /* of a second; one more is kept: the window is >= 1 s */

struct us_pacer_slot {
	uint64_t due_ns;	     /* next sample; UINT64_MAX: never */
	uint64_t late_ns, backed_ns; /* time lost, not yet a whole sample */
	uint64_t fits_ns;	     /* not before, by what was stolen lately */
	double cost_ns;		     /* mean of recent samples that cost something */
	unsigned n_cost;	     /* of these, up to the length of the mean */
	uint64_t newest;	     /* bucket number: time / bucket length */
	uint64_t stolen_ns[US_PACER_BUCKETS + 1]; /* by bucket number, modulo */
};

struct us_pacer {
	struct us_schedule schedule;
	uint64_t interval_ns, start_ns;
	uint64_t random;
	unsigned n_slot;
	unsigned n_active; /* of these: in vcpu_mask */
	unsigned weight;
	uint64_t taken; /* samples done and not failed, times weight */
	struct us_backend_counts counts;
	struct us_pacer_slot slot[US_MAX_VCPUS];
};

/* weight: vCPUs that one sample is of: 1 (then slots are vCPUs, and vcpu_mask chooses
 * among them), or all of them (then n_slot is 1). */
void us_pacer_init(struct us_pacer *p, const struct us_schedule *s, unsigned n_slot,
		   unsigned weight, uint64_t now_ns);

/*
 * For a backend whose samples stop the whole guest: one slot, which weighs as much as
 * the vCPUs that a sample is of, *ret_mask, all or those in s->vcpu_mask.  The guest
 * has n_vcpu.  0; -EINVAL: none is chosen.
 */
US_MUST_CHECK int us_pacer_init_whole(struct us_pacer *p, const struct us_schedule *s,
				      unsigned n_vcpu, uint64_t *ret_mask,
				      struct us_err *e);

/* The slot that is due next, and when. */
unsigned us_pacer_next(const struct us_pacer *p, uint64_t *ret_due_ns);

/* Sleep until t_ns or a signal; 0, or -EINTR.  No system call if it is over. */
int us_pacer_sleep(uint64_t t_ns);

/* The sample of slot is over: the guest was held for stolen_ns, until now_ns. */
void us_pacer_done(struct us_pacer *p, unsigned slot, uint64_t now_ns,
		   uint64_t stolen_ns);

/*
 * The same of a guest whose clock stands while it is held, for stood_ns (>= stolen_ns):
 * from an idle vCPU nothing is stolen meanwhile, but it does not idle either, and its
 * next sample is as far away in the guest's time as that of a busy one.
 */
void us_pacer_done_stood(struct us_pacer *p, unsigned slot, uint64_t now_ns,
			 uint64_t stolen_ns, uint64_t stood_ns);

/*
 * The same for a sample that found the vCPU where it had stood for some time, and took
 * until then: it stands for the samples that would have found it there.  samples, their
 * number, is what us_pacer_samples_in() gave for that time (before the next one is
 * done); it is the capture's weight, 1 or more.
 */
uint32_t us_pacer_samples_in(struct us_pacer *p, unsigned slot, uint64_t stood_ns);
void us_pacer_done_for(struct us_pacer *p, unsigned slot, uint64_t now_ns,
		       uint64_t stolen_ns, uint32_t samples);

/* What was seen at that time is none of the guest's, and no sample: the next one is
 * planned, and none is counted as due. */
void us_pacer_pass(struct us_pacer *p, unsigned slot, uint64_t now_ns);

/* Of the sample just done, n vCPUs (at most weight) gave no capture. */
void us_pacer_failed(struct us_pacer *p, unsigned n);

/* The slot is not looked at any more (a vCPU that was unplugged). */
void us_pacer_retire(struct us_pacer *p, unsigned slot);

/* How far the budget has slowed the slot down: 1: not at all. */
double us_pacer_stretch(const struct us_pacer *p, unsigned slot);

/* Is it not the budget that lets the slot's next sample wait? */
bool us_pacer_is_free(const struct us_pacer *p, unsigned slot, uint64_t now_ns);

void us_pacer_counts(const struct us_pacer *p, uint64_t now_ns,
		     struct us_backend_counts *ret);

#endif
