/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Periods that change: ticks stand for the time that went by, and see all of a guest
 * that keeps step. */
#include "unit.h"

#include "backend/bpf/pace.h"
#include "base/random.h"

#include <math.h>

#define SETTLE_NS 50000000ULL

/* A timer that starts anew whenever it is set, and a guest that does A in the first
 * fifth of each cycle. */
struct play {
	uint64_t mean_ns, cycle_ns, run_ns;
	double due_of_period;
	uint64_t samples, in_a, ticks;
	double stood_ns; /* what ticks and lost parts stand for */
};

static void set(struct us_bpf_pace *p, const struct play *g, uint64_t now,
		uint64_t *period, double *stood)
{
	*period = us_bpf_pace_draw(p, g->mean_ns);
	assert_true(*period >= US_BPF_PACE_MIN_NS);
	struct us_bpf_beat lost = us_bpf_pace_set(p, now);
	*stood += (double)lost.period_ns;
	p->due += lost.part * g->due_of_period;
}

static void run(struct play *g, uint64_t seed)
{
	struct us_bpf_pace p;
	uint64_t period, tick, settle = SETTLE_NS, random = ~seed;
	us_bpf_pace_start(&p, seed);
	set(&p, g, 0, &period, &g->stood_ns);
	tick = period;
	while (tick < g->run_ns) {
		if (settle < tick) {
			if (us_bpf_pace_is_old(&p)) {
				set(&p, g, settle, &period, &g->stood_ns);
				tick = settle + period;
			}
			settle += (uint64_t)(SETTLE_NS *
					     (0.75 + us_random_share(&random) / 2));
			continue;
		}
		struct us_bpf_beat beat = us_bpf_pace_tick(&p, tick);
		uint32_t n = us_bpf_pace_due(&p, beat.part, g->due_of_period);
		assert_int_equal(beat.period_ns, period);
		g->ticks++;
		g->samples += n;
		g->in_a += tick % g->cycle_ns < g->cycle_ns / 5 ? n : 0;
		g->stood_ns += (double)beat.period_ns;
		tick += period;
	}
}

static void ticks_stand_for_all_time(void **state)
{
	(void)state;
	for (uint64_t mean = 50000; mean <= 200000000; mean *= 4) {
		struct play g = { .mean_ns = mean,
				  .cycle_ns = 7777777,
				  .run_ns = 20000000000ULL,
				  .due_of_period = 1 };
		run(&g, mean);
		/* Of each change the half of a tick, more or less. */
		double error = 2 + sqrt((double)g.run_ns / (double)SETTLE_NS);
		assert_true(fabs(g.stood_ns - (double)g.run_ns) <
			    error * 2 * (double)mean);
		assert_true(fabs((double)g.samples - (double)g.run_ns / (double)mean) <
			    error * 2);
		assert_true(fabs((double)g.ticks / (double)g.samples - 1) < 0.2);
	}
}

static void a_guest_in_step_shows_all_of_its_cycle(void **state)
{
	static const double periods[] = { 0.25, 0.5, 1, 2, 3, 7 };
	(void)state;
	for (size_t i = 0; i < sizeof(periods) / sizeof(*periods); i++) {
		struct play g = { .mean_ns = 1000000, .due_of_period = 1 };
		g.cycle_ns = (uint64_t)(1e6 * periods[i]);
		g.run_ns = 200000000000ULL;
		run(&g, i);
		double share = (double)g.in_a / (double)g.samples;
		print_message("# cycle of %.2f periods: %.2f %% in a fifth of it\n",
			      periods[i], 100 * share);
		/* Six deviations of three times the binomial variance. */
		assert_true(fabs(share - 0.2) < 6 * sqrt(3 * 0.16 / (double)g.samples));
	}
}

/* A fifth of a cycle that is the mean period: the error of each of many recordings, by
 * that of independent samples with these weights. */
static void the_mean_period_is_no_beat(void **state)
{
	(void)state;
	double squares = 0;
	enum { N = 400 };
	for (unsigned i = 0; i < N; i++) {
		struct play g = { .mean_ns = 1000000,
				  .due_of_period = 1,
				  .cycle_ns = 1000000,
				  .run_ns = 2000000000 };
		run(&g, i);
		double share = (double)g.in_a / (double)g.samples;
		squares += (share - 0.2) * (share - 0.2) / (0.16 / (double)g.samples);
	}
	print_message("# variance %.2f of the binomial\n", squares / N);
	assert_true(squares / N < 1.9);
}

static void short_periods_count_for_more(void **state)
{
	(void)state;
	struct play g = { .mean_ns = US_BPF_PACE_MIN_NS,
			  .cycle_ns = 100000,
			  .run_ns = 10000000000ULL,
			  .due_of_period = 10 }; /* 1 MHz asked */
	run(&g, 1);
	assert_true(fabs((double)g.samples / 1e7 - 1) < 0.01);
}

static void a_late_tick_has_the_period_of_its_time(void **state)
{
	(void)state;
	struct us_bpf_pace p;
	us_bpf_pace_start(&p, 5);
	uint64_t first = us_bpf_pace_draw(&p, 1000000);
	assert_int_equal(us_bpf_pace_set(&p, 100).period_ns, 0);
	assert_int_equal(us_bpf_pace_tick(&p, 200).period_ns, first);
	assert_false(us_bpf_pace_is_old(&p));
	for (unsigned i = 0; i < 16; i++)
		us_bpf_pace_tick(&p, 300);
	assert_true(us_bpf_pace_is_old(&p));
	uint64_t second = us_bpf_pace_draw(&p, 1000000);
	assert_int_equal(us_bpf_pace_set(&p, 1000).period_ns, first / 2);
	assert_int_not_equal(first, second);
	assert_int_equal(us_bpf_pace_tick(&p, 999).period_ns, first);
	assert_int_equal(us_bpf_pace_tick(&p, 1001).period_ns, second);
	assert_false(us_bpf_pace_is_old(&p));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_stand_for_all_time),
		cmocka_unit_test(a_guest_in_step_shows_all_of_its_cycle),
		cmocka_unit_test(the_mean_period_is_no_beat),
		cmocka_unit_test(short_periods_count_for_more),
		cmocka_unit_test(a_late_tick_has_the_period_of_its_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
