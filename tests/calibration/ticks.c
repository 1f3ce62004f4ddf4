/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ticks.c: see ticks.h. */
#include "ticks.h"

#include "backend/bpf/pace.h"
#include "base/random.h"

#include <math.h>

#define MS	  1e6
#define SETTLE_NS (50 * MS)
#define SLICE_NS  (3 * MS) /* that it has a CPU, in the mean */

/* Times in ns: of the host, and how long the vCPU ran and waited until then. */
struct clock {
	const struct ticks *t;
	struct us_bpf_pace pace;
	uint64_t random;
	double now, ran, waited, told;	      /* told: of what it waited */
	double slice_ends, tick_ends, settle; /* the first two in what it ran */
};

static double share(struct clock *c)
{
	return us_random_share(&c->random);
}

static void set_timer(struct clock *c)
{
	uint64_t period_ns = us_bpf_pace_draw(&c->pace, (uint64_t)(1e9 / c->t->hz));
	c->pace.due += us_bpf_pace_set(&c->pace, (uint64_t)c->now).part;
	c->tick_ends = c->ran + (double)period_ns;
}

static void begin_slice(struct clock *c)
{
	double slice = SLICE_NS * (0.5 + share(c));
	c->slice_ends = c->ran + slice;
}

/* Others have its CPU. */
static void wait_for_cpu(struct clock *c)
{
	double mean = SLICE_NS * (1 / c->t->cpu - 1);
	double wait = -mean * log(share(c) + 0x1p-54);
	c->now += wait;
	c->waited += wait;
	begin_slice(c);
}

static bool settle(struct clock *c)
{
	uint32_t n = (uint32_t)((c->waited - c->told) * c->t->hz / 1e9);
	c->told += n * 1e9 / c->t->hz;
	c->settle = c->now + SETTLE_NS * (0.75 + share(c) / 2);
	if (us_bpf_pace_is_old(&c->pace))
		set_timer(c);
	return !n || c->t->sample(c->t->ctx, (uint64_t)c->now, TICKS_WAIT, n);
}

static bool tick(struct clock *c)
{
	const struct ticks *t = c->t;
	struct us_bpf_beat beat = us_bpf_pace_tick(&c->pace, (uint64_t)c->now);
	uint32_t weight = us_bpf_pace_due(&c->pace, beat.part, 1);
	uint32_t what = t->at(t->ctx, (uint64_t)c->ran);
	c->tick_ends = c->ran + (double)beat.period_ns;
	return !weight || t->sample(t->ctx, (uint64_t)c->now, what, weight);
}

bool ticks_play(const struct ticks *t)
{
	struct clock c = { .t = t, .random = ~t->seed, .settle = SETTLE_NS };
	us_bpf_pace_start(&c.pace, t->seed);
	set_timer(&c);
	begin_slice(&c);
	for (bool ok = true; ok;) {
		double run = fmin(fmin(c.tick_ends, c.slice_ends) - c.ran,
				  fmax(c.settle - c.now, 0));
		c.now += run;
		c.ran += run;
		if (c.ran >= (double)t->ran_ns)
			return true;
		if (c.now >= c.settle)
			ok = settle(&c);
		else if (c.ran >= c.tick_ends)
			ok = tick(&c);
		else
			wait_for_cpu(&c);
	}
	return false;
}
