/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pacer.h: decides when a backend that takes samples itself samples which vCPU.
 *
 * A slot is what one sample stops: a vCPU, or all of them at once.  Each slot has a
 * schedule of its own: samples are due at random distances (uniform in 0.5 to 1.5 of
 * the interval, from the seed), so that no guest runs in step with them.  The schedule
 * is in the guest's time: it stands while the guest is held, so that the guest always
 * makes progress.  It does not depend on what the guest does: a sample that comes late
 * does not move the following ones.  Those that come due before it is done are lost,
 * and counted as late.
 *
 * Each slot has its own budget: in any second, the time stolen from the slot stays
 * below budget_ppm, or exceeds it by one sample at most.  The distance grows with the
 * mean cost of the samples of the last quarter of a second (of 16 at least) until they
 * fit, and shrinks as they get cheaper.  The dearest of the first 16 is left out of it.
 * Samples that cost nothing do not count in the mean: an idle guest is sampled as often
 * as a busy one, and the idle share stays true. Samples that were not taken because of
 * the budget are counted as backed off.
 *
 * Only us_pacer_sleep() reads a clock: the other functions get times as arguments.
 */
#ifndef US_BACKEND_PACER_H
#define US_BACKEND_PACER_H

#include "backend/backend.h"

#define US_PACER_BUCKETS 32 /* buckets a second, plus one: the window is >= 1 s */
#define US_PACER_STATES	 8  /* states of a guest: see us_pacer_wants() */

/* How many of the recent samples that came due in one state were taken, and lost. */
struct us_pacer_fates {
	double taken, lost;
};

/* The distance to the next sample, as it was planned when the last one was done. */
struct us_pacer_plan {
	uint64_t from_ns, until_ns;
	uint64_t backed_ns; /* of it, added by the budget; counted already */
};

struct us_pacer_slot {
	uint64_t due_ns;	     /* next sample; UINT64_MAX: never */
	uint64_t late_ns, backed_ns; /* time lost, not yet a whole sample's */
	struct us_pacer_plan planned;
	uint64_t ahead_ns; /* distance to the next sample, if it is known; or 0 */
	double waits; /* part of recent samples for which us_pacer_due_in() was called
		       */
	uint64_t fits_ns;  /* the budget allows no sample before this time */
	double cost_ns;	   /* mean of recent samples that cost something */
	double dearest_ns; /* of the first ones */
	unsigned n_cost;   /* samples in cost_ns, up to the length of the mean */
	unsigned state; /* of the guest, when the sample that is being taken was due */
	double state_since; /* its mean from then until the sample is done */
	struct us_pacer_fates fates[US_PACER_STATES];
	uint64_t forget_ns; /* when half of fates is forgotten next */
	uint64_t newest;    /* bucket number: time / bucket length */
	uint64_t stolen_ns[US_PACER_BUCKETS + 1]; /* by bucket number, modulo */
};

struct us_pacer {
	struct us_schedule schedule;
	uint64_t interval_ns, start_ns;
	uint64_t random;
	unsigned n_slot;
	unsigned n_active; /* slots that are in vcpu_mask */
	unsigned weight;
	uint64_t taken; /* samples done and not failed, times weight */
	struct us_backend_counts counts;
	struct us_pacer_slot slot[US_MAX_VCPUS];
};

/* weight: how many vCPUs one sample covers: 1 (then slots are vCPUs, and vcpu_mask
 * chooses among them), or all of them (then n_slot is 1). */
void us_pacer_init(struct us_pacer *p, const struct us_schedule *s, unsigned n_slot,
		   unsigned weight, uint64_t now_ns);

/*
 * For a backend whose samples stop the whole guest, which has n_vcpu vCPUs: one slot,
 * with as much weight as a sample covers vCPUs.  These are *ret_mask: all, or those in
 * s->vcpu_mask.  0; -EINVAL: none is chosen.
 */
US_MUST_CHECK int us_pacer_init_whole(struct us_pacer *p, const struct us_schedule *s,
				      unsigned n_vcpu, uint64_t *ret_mask,
				      struct us_err *e);

/* The slot that is due next, and when. */
unsigned us_pacer_next(const struct us_pacer *p, uint64_t *ret_due_ns);

/* Sleep until t_ns or a signal; 0, or -EINTR.  No system call if t_ns has passed. */
int us_pacer_sleep(uint64_t t_ns);

/*
 * For a backend that loses more samples in some states of the guest than in others,
 * because they take longer there.  state: what is known of the guest without a stop
 * when the sample is due, such as the number of vCPUs that have work.  False: the
 * sample is left out, and the next one is planned.  As large a part of the samples is
 * left out in each state as is lost in the state that loses most, so that each state
 * keeps its share.
 */
bool us_pacer_wants(struct us_pacer *p, unsigned slot, uint64_t now_ns, unsigned state);

/*
 * The guest's mean state from when the sample was due until it was taken, for one that
 * took long: what came due meanwhile, and is lost, came due in that.  (An idle guest
 * may have begun its work, and ended it.)  Without this it is the state when it was
 * due.
 */
void us_pacer_was_in(struct us_pacer *p, unsigned slot, double mean_state);

/* The sample of slot is over: the guest was held for stolen_ns, until now_ns. */
void us_pacer_done(struct us_pacer *p, unsigned slot, uint64_t now_ns,
		   uint64_t stolen_ns);

/*
 * The same for a guest whose clock stops while the guest is held, for stood_ns (>=
 * stolen_ns).  Sampling takes nothing from an idle vCPU meanwhile, but the vCPU does
 * not idle either: its next sample is as far away in the guest's time as that of a busy
 * one.
 */
void us_pacer_done_stood(struct us_pacer *p, unsigned slot, uint64_t now_ns,
			 uint64_t stolen_ns, uint64_t stood_ns);

/*
 * For a sample that waited for a vCPU which stayed at one place meanwhile, from from_ns
 * until until_ns: how many samples came due in that time, with this one.  They would
 * have found the vCPU there: this is the capture's weight.  Then the sample is over
 * with us_pacer_done_for(), for as many.
 */
uint32_t us_pacer_due_in(struct us_pacer *p, unsigned slot, uint64_t from_ns,
			 uint64_t until_ns);
void us_pacer_done_for(struct us_pacer *p, unsigned slot, uint64_t now_ns,
		       uint64_t stolen_ns, uint32_t samples);

/* Something other than the guest was seen: this is no sample.  Plans the next one and
 * counts none as due. */
void us_pacer_pass(struct us_pacer *p, unsigned slot, uint64_t now_ns);

/* n vCPUs (at most weight) of the sample just done gave no capture. */
void us_pacer_failed(struct us_pacer *p, unsigned n);
/* It is known now what n of those would have shown: they are taken. */
void us_pacer_recovered(struct us_pacer *p, unsigned n);
/* n of those came due while the sample before was still being taken. */
void us_pacer_were_late(struct us_pacer *p, unsigned n);

/* The slot is not sampled any more (a vCPU that was unplugged). */
void us_pacer_retire(struct us_pacer *p, unsigned slot);

/* How much the budget stretches the slot's interval; 1: not at all. */
double us_pacer_stretch(const struct us_pacer *p, unsigned slot);

/* Does the budget allow the slot's next sample now, without delay? */
bool us_pacer_is_free(const struct us_pacer *p, unsigned slot, uint64_t now_ns);

/* What came due until now_ns, and what became of it; not what is planned after that. */
void us_pacer_counts(const struct us_pacer *p, uint64_t now_ns,
		     struct us_backend_counts *ret);

#endif
