/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pace.c: see pace.h. */
#include "backend/bpf/pace.h"
#include "base/random.h"

#include <math.h>

#define OLD_TICKS	16
#define MOST_RATE	1.5	  /* of the mean one; the lowest is 1 less */
#define OLD_DUE		4	  /* samples */
#define PAID_BY		8	  /* samples, about, count for what was skipped */
#define MOST_SKIPPED_NS 250000000 /* a longer gap is left to be counted as late */

uint64_t us_bpf_pace_period(double hz, uint64_t max_hz)
{
	double ns = hz > 0 ? 1e9 / hz : 1e9;
	double least = max_hz ? MOST_RATE * 1e9 / (double)max_hz : 0;
	ns = ns > least ? ns : least;
	return ns < US_BPF_PACE_MIN_NS ? US_BPF_PACE_MIN_NS
	       : ns > 1e15	       ? (uint64_t)1e15
				       : (uint64_t)ns;
}

void us_bpf_pace_start(struct us_bpf_pace *p, uint64_t seed)
{
	*p = (struct us_bpf_pace){ .random = seed, .due_random = ~seed };
	p->threshold = us_random_share(&p->due_random);
}

bool us_bpf_pace_is_old(const struct us_bpf_pace *p)
{
	return p->n_tick >= OLD_TICKS;
}

uint64_t us_bpf_pace_draw(struct us_bpf_pace *p, uint64_t mean_ns)
{
	double rate = MOST_RATE - 1 + us_random_share(&p->random);
	uint64_t period_ns = (uint64_t)((double)mean_ns / rate);
	if (period_ns < US_BPF_PACE_MIN_NS)
		period_ns = US_BPF_PACE_MIN_NS;
	p->next = (struct us_bpf_beat){ period_ns,
					(double)period_ns / (double)mean_ns };
	return period_ns;
}

struct us_bpf_beat us_bpf_pace_set(struct us_bpf_pace *p, uint64_t now_ns)
{
	struct us_bpf_beat lost = { p->now.period_ns / 2, p->now.part / 2 };
	if (!p->n_tick)
		lost = (struct us_bpf_beat){ 0, 0 };
	p->before = p->now;
	p->now = p->next;
	p->since_ns = now_ns;
	p->lost_ns += (double)lost.period_ns;
	p->n_set++;
	p->n_tick = 0;
	return lost;
}

struct us_bpf_beat us_bpf_pace_tick(struct us_bpf_pace *p, uint64_t t_ns)
{
	p->is_before = t_ns <= p->since_ns && p->before.period_ns;
	if (p->is_before)
		return p->before;
	p->n_tick++;
	return p->now;
}

uint64_t us_bpf_pace_near(const struct us_bpf_pace *p)
{
	return p->now.period_ns + p->now.period_ns / 2;
}

/* What the last report of run time adds to late_ns; *ret_known: if anything is known.
 */
static double late_by(struct us_bpf_pace *p, uint64_t ran_ns, uint16_t n_tick,
		      uint16_t n_new, bool *ret_known)
{
	double before_ns = (double)p->before.period_ns;
	*ret_known = n_tick < UINT16_MAX && n_tick >= n_new;
	if (p->is_before) /* what was lost when the timer was set comes behind it */
		return (double)ran_ns - n_tick * before_ns;
	/* Nothing is known of the time before the start, nor which ticks were of which
	 * period if the timer was set twice.  What was taken for lost when it was set,
	 * half a period, may have been a whole one. */
	double lost_ns = p->lost_ns + (p->n_set ? before_ns / 2 : 0);
	*ret_known &= p->n_set == 0 || (p->n_set == 1 && p->before.period_ns);
	p->n_set = 0;
	p->lost_ns = 0;
	return (double)ran_ns - n_new * (double)p->now.period_ns -
	       (n_tick - n_new) * before_ns - lost_ns;
}

uint32_t us_bpf_pace_skipped(struct us_bpf_pace *p, struct us_bpf_beat beat,
			     uint64_t ran_ns, uint16_t n_tick, uint16_t n_new)
{
	double period_ns = (double)beat.period_ns;
	bool known;
	if (!ran_ns)
		return 0;
	p->late_ns += late_by(p, ran_ns, n_tick, n_new, &known);
	/* A tick that came sooner is the more punctual one, with which others are
	 * compared. */
	if (!known || p->late_ns < 0)
		p->late_ns = 0;
	if (p->late_ns < period_ns)
		return 0;
	uint32_t most = (uint32_t)(MOST_SKIPPED_NS / beat.period_ns);
	double n = floor(p->late_ns / period_ns);
	p->late_ns -= n * period_ns;
	return n < most ? (uint32_t)n : most;
}

double us_bpf_pace_part(struct us_bpf_pace *p, struct us_bpf_beat beat,
			uint32_t skipped, bool at_once)
{
	if (at_once)
		return beat.part * (1 + skipped);
	p->owed += beat.part * skipped;
	double paid = p->owed / PAID_BY;
	p->owed -= paid;
	return beat.part + paid;
}

uint32_t us_bpf_pace_due(struct us_bpf_pace *p, double part, double due_of_period)
{
	uint32_t n = 0;
	p->due += part * due_of_period;
	while (p->due >= p->threshold) {
		uint32_t now = 1 + (uint32_t)(p->due - p->threshold);
		p->due -= now;
		p->n_due += now;
		n += now;
		if (p->n_due < OLD_DUE)
			break;
		p->n_due = 0;
		p->threshold = us_random_share(&p->due_random);
	}
	return n;
}
