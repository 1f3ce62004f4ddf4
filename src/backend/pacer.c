/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pacer.c: see pacer.h. */
#include "backend/pacer.h"
#include "base/clock.h"
#include "base/random.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define BUCKET_NS (US_NS_PER_SEC / US_PACER_BUCKETS)
#define N_BUCKET  (US_PACER_BUCKETS + 1)
/* The running mean of the cost is of the samples of this part of a second, and of
 * LEAST_MEAN at least: a single dear one must not slow down those that follow it. */
#define MEAN_PART  4
#define LEAST_MEAN 16
/* Aim below the limit, so that jitter seldom meets the hard bound of the window. */
#define AIM 0.95
/* After a sample the guest runs for the interval divided by this, at least. */
#define REST_PART 4
/* Up to so many lost samples have places of their own in the schedule; of a longer wait
 * only their number matters. */
#define MOST_STEPS 16
#define WAITS_MEAN 32	  /* samples in the mean of waits */
#define MOST_WAITS 0.0625 /* of them wait: the host has too few CPUs */
#define MOST_DUE   100000 /* that a single capture stands for */
/* The part of a state's samples that is taken is known from LEAST_FATES of them on.
 * Half of them are forgotten when there are MOST_FATES, and every FORGET_NS, so that
 * what is left out follows the host's load. */
#define LEAST_FATES 6
#define LEAST_PART  0.125 /* no more is left out for the sake of a state */
#define MOST_FATES  256
#define FORGET_NS   (30 * US_NS_PER_SEC)

static uint64_t random_distance(struct us_pacer *p)
{
	return (uint64_t)((double)p->interval_ns *
			  (0.5 + us_random_share(&p->random))) +
	       1;
}

static bool is_active(const struct us_pacer *p, unsigned slot)
{
	uint64_t mask = p->schedule.vcpu_mask;
	return p->weight > 1 || !mask || mask >> slot & 1;
}

void us_pacer_init(struct us_pacer *p, const struct us_schedule *s, unsigned n_slot,
		   unsigned weight, uint64_t now_ns)
{
	memset(p, 0, sizeof(*p));
	p->schedule = *s;
	p->start_ns = now_ns;
	p->random = s->seed;
	p->n_slot = n_slot < US_MAX_VCPUS ? n_slot : US_MAX_VCPUS;
	p->weight = weight ? weight : 1;
	double ns = s->hz > 0 ? 1e9 / s->hz : 1e9;
	p->interval_ns = ns < 1	     ? 1
			 : ns > 1e15 ? 1000000 * US_NS_PER_SEC
				     : (uint64_t)ns;
	for (unsigned i = 0; i < p->n_slot; i++) {
		bool active = is_active(p, i);
		p->n_active += active;
		p->slot[i].due_ns = active ? now_ns + random_distance(p) : UINT64_MAX;
	}
}

int us_pacer_init_whole(struct us_pacer *p, const struct us_schedule *s,
			unsigned n_vcpu, uint64_t *ret_mask, struct us_err *e)
{
	uint64_t all = n_vcpu < 64 ? (1ull << n_vcpu) - 1 : UINT64_MAX;
	struct us_schedule all_at_once = *s;
	*ret_mask = s->vcpu_mask ? s->vcpu_mask & all : all;
	if (!*ret_mask)
		return us_fail(e, -EINVAL,
			       "the guest has %u vCPU%s, and none of them is chosen",
			       n_vcpu, n_vcpu == 1 ? "" : "s");
	all_at_once.vcpu_mask = 0; /* the slot's number is no vCPU's */
	us_pacer_init(p, &all_at_once, 1, (unsigned)__builtin_popcountll(*ret_mask),
		      us_now_ns());
	return 0;
}

unsigned us_pacer_next(const struct us_pacer *p, uint64_t *ret_due_ns)
{
	unsigned best = 0;
	for (unsigned i = 1; i < p->n_slot; i++)
		if (p->slot[i].due_ns < p->slot[best].due_ns)
			best = i;
	*ret_due_ns = p->slot[best].due_ns;
	return best;
}

int us_pacer_sleep(uint64_t t_ns)
{
	/* A timer is set and waited for even if its time is over. */
	if (t_ns <= us_now_ns())
		return 0;
	struct timespec t = { .tv_sec = (time_t)(t_ns / US_NS_PER_SEC),
			      .tv_nsec = (long)(t_ns % US_NS_PER_SEC) };
	return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void window_add(struct us_pacer_slot *s, uint64_t now_ns, uint64_t stolen_ns)
{
	uint64_t now = now_ns / BUCKET_NS;
	uint64_t old = s->newest;
	if (now > old + N_BUCKET)
		old = now - N_BUCKET;
	while (old < now)
		s->stolen_ns[++old % N_BUCKET] = 0;
	if (now > s->newest)
		s->newest = now;
	s->stolen_ns[s->newest % N_BUCKET] += stolen_ns;
}

/* The earliest time at which a sample as dear as the recent ones fits in the second
 * before it.  One always fits into an empty second. */
static uint64_t window_fits_at(const struct us_pacer *p, const struct us_pacer_slot *s)
{
	double limit = (double)p->schedule.budget_ppm * 1e3 - s->cost_ns;
	uint64_t sum = 0, taken_at = 0;
	for (unsigned i = 0; i < N_BUCKET; i++)
		sum += s->stolen_ns[i];
	/* Let the oldest buckets leave the window until the rest is small enough. */
	for (unsigned age = N_BUCKET; sum && (double)sum > limit; age--) {
		uint64_t stolen =
			s->stolen_ns[(s->newest + N_BUCKET + 1 - age) % N_BUCKET];
		sum -= stolen;
		if (stolen)
			taken_at = s->newest + 1 - age;
	}
	return taken_at ? (taken_at + N_BUCKET) * BUCKET_NS : 0;
}

double us_pacer_stretch(const struct us_pacer *p, unsigned slot)
{
	if (!p->schedule.budget_ppm)
		return 1;
	double needed = p->slot[slot].cost_ns / (AIM * p->schedule.budget_ppm * 1e-6);
	double stretch = needed / (double)p->interval_ns;
	return stretch > 1 ? stretch : 1;
}

/* The first sample of a recording is often the dearest by far: until there are
 * LEAST_MEAN, the mean is of all but the dearest. */
static void learn_cost(struct us_pacer *p, unsigned slot, uint64_t stolen_ns)
{
	struct us_pacer_slot *s = &p->slot[slot];
	double distance = (double)p->interval_ns * us_pacer_stretch(p, slot);
	double length = 1e9 / MEAN_PART / distance, ns = (double)stolen_ns;
	if (s->n_cost < LEAST_MEAN) {
		double cheaper = ns < s->dearest_ns ? ns : s->dearest_ns;
		s->dearest_ns = ns > s->dearest_ns ? ns : s->dearest_ns;
		ns = cheaper;
	}
	s->n_cost++;
	if (s->n_cost > LEAST_MEAN && s->n_cost > length)
		s->n_cost = length > LEAST_MEAN ? (unsigned)length : LEAST_MEAN;
	s->cost_ns += (ns - s->cost_ns) / (s->n_cost > 1 ? s->n_cost - 1 : 1);
}

/* Turn time that was lost into whole samples; the rest stays for later. */
static uint64_t whole_samples(const struct us_pacer *p, uint64_t *lost_ns)
{
	uint64_t n = *lost_ns / p->interval_ns;
	*lost_ns -= n * p->interval_ns;
	return n * p->weight;
}

bool us_pacer_is_free(const struct us_pacer *p, unsigned slot, uint64_t now_ns)
{
	return now_ns >= p->slot[slot].fits_ns && us_pacer_stretch(p, slot) <= 1;
}

static void spend(struct us_pacer *p, unsigned slot, uint64_t now_ns,
		  uint64_t stolen_ns)
{
	struct us_pacer_slot *s = &p->slot[slot];
	if (!p->schedule.budget_ppm)
		return;
	if (stolen_ns)
		learn_cost(p, slot, stolen_ns);
	window_add(s, now_ns, stolen_ns);
	s->fits_ns = window_fits_at(p, s);
}

/*
 * A vCPU that had to wait for a CPU loses it once more when it is stopped.  At
 * distances that are never short, what it does just behind a stop would not be seen.
 */
static uint64_t any_distance(struct us_pacer *p)
{
	return (uint64_t)((double)p->interval_ns *
			  -log1p(-us_random_share(&p->random))) +
	       1;
}

/* The distance from one due sample to the next.  What the budget adds counts as backed
 * off. */
static uint64_t step(struct us_pacer *p, struct us_pacer_slot *s, double stretch)
{
	bool any = s->waits > MOST_WAITS;
	uint64_t distance = any ? any_distance(p) : random_distance(p);
	uint64_t more = (uint64_t)((stretch - 1) * (double)distance);
	s->backed_ns += more;
	return distance + more;
}

uint32_t us_pacer_due_in(struct us_pacer *p, unsigned slot, uint64_t from_ns,
			 uint64_t until_ns)
{
	struct us_pacer_slot *s = &p->slot[slot];
	double stretch = us_pacer_stretch(p, slot);
	uint32_t n = 1;
	s->ahead_ns = step(p, s, stretch);
	while (s->due_ns + s->ahead_ns < until_ns && n < MOST_DUE) {
		s->due_ns += s->ahead_ns;
		if (s->due_ns < from_ns)
			s->late_ns += (uint64_t)((double)s->ahead_ns / stretch);
		else
			n++;
		s->ahead_ns = step(p, s, stretch);
	}
	return n;
}

/* n samples, in the states to both sides of the mean. */
static void lose(struct us_pacer_slot *s, double n)
{
	unsigned state = (unsigned)s->state_since;
	double above = s->state_since - state;
	s->fates[state].lost += n * (1 - above);
	if (above > 0)
		s->fates[state + 1].lost += n * above;
}

/*
 * The next sample that can still be taken; the last one was due at last_ns.  Samples
 * that came due since are lost.  The others stay where they are in the schedule: if a
 * late sample moved them, the work that made it late would be seen too seldom.
 */
static uint64_t next_due(struct us_pacer *p, unsigned slot, uint64_t last_ns,
			 uint64_t now_ns)
{
	struct us_pacer_slot *s = &p->slot[slot];
	double stretch = us_pacer_stretch(p, slot);
	/* A wait has stolen nothing.  A rest behind it would be of what follows waits
	 * only, which is what the guest does when it has a CPU again. */
	bool rests = !s->ahead_ns && s->waits <= MOST_WAITS;
	uint64_t from = rests ? now_ns + p->interval_ns / REST_PART : now_ns;
	uint64_t interval = (uint64_t)(stretch * (double)p->interval_ns);
	if (now_ns - last_ns > MOST_STEPS * interval) {
		uint64_t n = (now_ns - last_ns) / interval - 1;
		lose(s, (double)n);
		s->late_ns += n * p->interval_ns;
		s->backed_ns += n * (interval - p->interval_ns);
		last_ns += n * interval;
	}
	uint64_t backed_ns = s->backed_ns;
	s->planned.from_ns = last_ns;
	uint64_t due = last_ns + (s->ahead_ns ? s->ahead_ns : step(p, s, stretch));
	s->ahead_ns = 0;
	while (due < from) {
		backed_ns = s->backed_ns;
		s->planned.from_ns = due;
		uint64_t further = step(p, s, stretch);
		lose(s, due < now_ns);
		s->late_ns += (uint64_t)((double)further / stretch);
		due += further;
	}
	if (due < s->fits_ns) {
		s->backed_ns += s->fits_ns - due;
		due = s->fits_ns;
	}
	s->planned.until_ns = due;
	s->planned.backed_ns = s->backed_ns - backed_ns;
	return due;
}

static void forget_fates(struct us_pacer_slot *s, uint64_t now_ns)
{
	bool old = now_ns >= s->forget_ns;
	if (old)
		s->forget_ns = now_ns + FORGET_NS;
	for (unsigned i = 0; i < US_PACER_STATES; i++) {
		struct us_pacer_fates *f = &s->fates[i];
		if (!old && f->taken + f->lost < MOST_FATES)
			continue;
		f->taken /= 2;
		f->lost /= 2;
	}
}

/* Which part of the samples in a state is taken; 1: not known, as of a state in which
 * none is ever due, which the guest only passes through while it is waited for. */
static double taken_part(const struct us_pacer_fates *f)
{
	double n = f->taken + f->lost;
	if (n < LEAST_FATES || f->taken < 1)
		return 1;
	double part = (f->taken + 1) / (n + 1);
	return part < LEAST_PART ? LEAST_PART : part;
}

bool us_pacer_wants(struct us_pacer *p, unsigned slot, uint64_t now_ns, unsigned state)
{
	struct us_pacer_slot *s = &p->slot[slot];
	double least = 1;
	s->state = state < US_PACER_STATES ? state : US_PACER_STATES - 1;
	s->state_since = s->state;
	forget_fates(s, now_ns);
	for (unsigned i = 0; i < US_PACER_STATES; i++) {
		double part = taken_part(&s->fates[i]);
		least = part < least ? part : least;
	}
	if (us_random_share(&p->random) * taken_part(&s->fates[s->state]) <= least)
		return true;
	uint64_t distance = random_distance(p);
	s->late_ns += distance;
	s->due_ns += distance;
	return false;
}

void us_pacer_was_in(struct us_pacer *p, unsigned slot, double mean_state)
{
	double most = US_PACER_STATES - 1;
	p->slot[slot].state_since = mean_state < 0	? 0
				    : mean_state < most ? mean_state
							: most;
}

/* A sample is done, for which the guest's time stood for held_ns. */
static void done(struct us_pacer *p, unsigned slot, uint64_t now_ns, uint64_t stolen_ns,
		 uint64_t held_ns, uint32_t samples)
{
	struct us_pacer_slot *s = &p->slot[slot];
	bool retired = s->due_ns == UINT64_MAX; /* meanwhile */
	uint64_t since_due = now_ns > s->due_ns ? now_ns - s->due_ns : 0;
	uint64_t held = since_due < held_ns ? since_due : held_ns;
	spend(p, slot, now_ns, stolen_ns);
	s->waits += ((s->ahead_ns != 0) - s->waits) / WAITS_MEAN;
	s->fates[s->state].taken += samples;
	s->late_ns += held;
	uint64_t next = next_due(p, slot, now_ns - (since_due - held), now_ns);
	uint64_t late = whole_samples(p, &s->late_ns);
	uint64_t backed_off = whole_samples(p, &s->backed_ns);
	uint64_t taken = (uint64_t)p->weight * samples;
	p->counts.late += late;
	p->counts.backed_off += backed_off;
	p->counts.due += taken + late + backed_off;
	p->counts.stolen_ns += stolen_ns * p->weight;
	p->taken += taken;
	s->due_ns = retired ? UINT64_MAX : next;
}

void us_pacer_done_for(struct us_pacer *p, unsigned slot, uint64_t now_ns,
		       uint64_t stolen_ns, uint32_t samples)
{
	done(p, slot, now_ns, stolen_ns, stolen_ns, samples);
}

void us_pacer_done(struct us_pacer *p, unsigned slot, uint64_t now_ns,
		   uint64_t stolen_ns)
{
	done(p, slot, now_ns, stolen_ns, stolen_ns, 1);
}

void us_pacer_done_stood(struct us_pacer *p, unsigned slot, uint64_t now_ns,
			 uint64_t stolen_ns, uint64_t stood_ns)
{
	done(p, slot, now_ns, stolen_ns, stood_ns, 1);
}

void us_pacer_pass(struct us_pacer *p, unsigned slot, uint64_t now_ns)
{
	if (p->slot[slot].due_ns != UINT64_MAX)
		p->slot[slot].due_ns = now_ns + random_distance(p);
}

void us_pacer_failed(struct us_pacer *p, unsigned n)
{
	p->taken -= n;
	p->counts.failed += n;
}

void us_pacer_recovered(struct us_pacer *p, unsigned n)
{
	p->taken += n;
	p->counts.failed -= n;
}

void us_pacer_were_late(struct us_pacer *p, unsigned n)
{
	p->counts.failed -= n;
	p->counts.late += n;
}

void us_pacer_retire(struct us_pacer *p, unsigned slot)
{
	p->slot[slot].due_ns = UINT64_MAX;
}

/* What done() has counted as backed off for the distance to the next sample, and is not
 * over yet: with dear samples and a small budget that can be many seconds. */
static uint64_t backed_ahead(const struct us_pacer *p, const struct us_pacer_slot *s,
			     uint64_t now_ns)
{
	const struct us_pacer_plan *plan = &s->planned;
	if (plan->until_ns <= now_ns)
		return 0;
	uint64_t from = now_ns > plan->from_ns ? now_ns : plan->from_ns;
	double part = (double)(plan->until_ns - from) /
		      (double)(plan->until_ns - plan->from_ns);
	uint64_t ahead_ns = (uint64_t)(part * (double)plan->backed_ns);
	if (ahead_ns <= s->backed_ns)
		return 0;
	ahead_ns += p->interval_ns - 1 - s->backed_ns;
	return ahead_ns / p->interval_ns * p->weight;
}

void us_pacer_counts(const struct us_pacer *p, uint64_t now_ns,
		     struct us_backend_counts *ret)
{
	*ret = p->counts;
	for (unsigned i = 0; i < p->n_slot; i++) {
		uint64_t ahead = backed_ahead(p, &p->slot[i], now_ns);
		ret->backed_off -= ahead;
		ret->due -= ahead;
	}
	uint64_t elapsed = now_ns > p->start_ns ? now_ns - p->start_ns : 0;
	ret->vcpu_ns = elapsed * p->n_active * p->weight;
}
