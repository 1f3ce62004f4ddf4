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

/* The kernel's timer (kernel/time/hrtimer.c, hrtimer_forward()): a tick that comes late
 * moves no other, and those that came due meanwhile do not come at all.  Each is late
 * by up to late_ns, and one in ten by up to held_ns.  Returns the time that ticks stand
 * for, as a part of all. */
static double stand_for(uint64_t late_ns, uint64_t held_ns, uint64_t *ret_skipped)
{
	struct us_bpf_pace p;
	uint64_t random = 7, due = 0, now = 0, last = 0, read = 0, n = 0;
	uint16_t n_tick = 0, n_new = 0;
	double stood = 0;
	us_bpf_pace_start(&p, 3);
	uint64_t period = us_bpf_pace_draw(&p, 1000000);
	us_bpf_pace_set(&p, 0);
	*ret_skipped = 0;
	while (now < 20000000000ULL) {
		due += period;
		bool held = us_random_share(&random) < 0.1;
		uint64_t most = held ? held_ns : late_ns;
		now = due + (uint64_t)(us_random_share(&random) * (double)most);
		struct us_bpf_beat beat = us_bpf_pace_tick(&p, now);
		bool known = !last || now - last > us_bpf_pace_near(&p);
		n_tick++;
		n_new++;
		uint32_t skipped = us_bpf_pace_skipped(&p, beat, known ? now - read : 0,
						       n_tick, n_new);
		read = known ? now : read;
		n_tick = known ? 0 : n_tick;
		n_new = known ? 0 : n_new;
		stood += (double)beat.period_ns * (1 + skipped);
		*ret_skipped += skipped;
		last = now;
		while (due + period <= now)
			due += period;
		if (++n % 17)
			continue;
		stood += (double)beat.period_ns / 2;
		period = us_bpf_pace_draw(&p, 1000000);
		now += beat.period_ns / 2;
		us_bpf_pace_set(&p, now);
		due = now;
		last = 0;
		n_new = 0;
	}
	return stood / (double)now;
}

static void late_ticks_skip_none(void **state)
{
	(void)state;
	uint64_t skipped;
	double part = stand_for(400000, 400000, &skipped);
	print_message("# %.3f of the time, %lu skipped\n", part,
		      (unsigned long)skipped);
	assert_int_equal(skipped, 0);
	assert_true(fabs(part - 1) < 0.02);
}

static void skipped_ticks_are_made_up_for(void **state)
{
	(void)state;
	uint64_t skipped;
	double part = stand_for(100000, 20000000, &skipped);
	print_message("# %.3f of the time, %lu skipped\n", part,
		      (unsigned long)skipped);
	assert_true(skipped > 1000);
	assert_true(part > 0.95 && part < 1.01);
}

static void a_very_long_gap_is_not_one_sample(void **state)
{
	(void)state;
	struct us_bpf_pace p;
	us_bpf_pace_start(&p, 1);
	uint64_t period = us_bpf_pace_draw(&p, 1000000);
	us_bpf_pace_set(&p, 0);
	for (unsigned i = 1; i <= 3; i++)
		assert_int_equal(us_bpf_pace_skipped(&p,
						     us_bpf_pace_tick(&p, i * period),
						     period, 1, 1),
				 0);
	/* Those before it made no sample. */
	assert_int_equal(us_bpf_pace_skipped(&p, us_bpf_pace_tick(&p, 9 * period),
					     6 * period, 6, 6),
			 0);
	struct us_bpf_beat beat = us_bpf_pace_tick(&p, 60000000000ULL);
	uint32_t n = us_bpf_pace_skipped(&p, beat, UINT32_MAX, 1, 1);
	assert_int_equal(n, 250000000 / period);
	/* Not known: nothing is made up for. */
	beat = us_bpf_pace_tick(&p, 120000000000ULL);
	assert_int_equal(us_bpf_pace_skipped(&p, beat, 0, 1, 1), 0);
}

/* No sample counts for all of a gap, and all that counts is the gap. */
static void a_gap_is_shared(void **state)
{
	(void)state;
	struct us_bpf_pace p;
	us_bpf_pace_start(&p, 1);
	us_bpf_pace_draw(&p, 1000000);
	us_bpf_pace_set(&p, 0);
	struct us_bpf_beat beat = us_bpf_pace_tick(&p, 1000000);
	assert_true(fabs(us_bpf_pace_part(&p, beat, 20, true) - 21 * beat.part) < 1e-9);
	double most = 0, sum = 0;
	for (unsigned i = 0; i < 200; i++) {
		double part = us_bpf_pace_part(&p, beat, i ? 0 : 40, false);
		most = part > most ? part : most;
		sum += part - beat.part;
	}
	assert_true(most < 7 * beat.part);
	assert_true(fabs(sum - 40 * beat.part) < 1e-6 * sum);
}

/* Not the shortest period exceeds the kernel's limit of ticks. */
static void the_kernels_limit_holds(void **state)
{
	(void)state;
	struct us_bpf_pace p;
	uint64_t mean = us_bpf_pace_period(10000, 8000);
	us_bpf_pace_start(&p, 1);
	for (unsigned i = 0; i < 1000; i++)
		assert_true(us_bpf_pace_draw(&p, mean) >= 1000000000 / 8000);
	assert_int_equal(us_bpf_pace_period(10000, 100000), 100000);
	assert_int_equal(us_bpf_pace_period(10000, 0), 100000);
	assert_int_equal(us_bpf_pace_period(10000, UINT64_MAX), 100000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_stand_for_all_time),
		cmocka_unit_test(a_guest_in_step_shows_all_of_its_cycle),
		cmocka_unit_test(the_mean_period_is_no_beat),
		cmocka_unit_test(short_periods_count_for_more),
		cmocka_unit_test(a_late_tick_has_the_period_of_its_time),
		cmocka_unit_test(late_ticks_skip_none),
		cmocka_unit_test(skipped_ticks_are_made_up_for),
		cmocka_unit_test(a_very_long_gap_is_not_one_sample),
		cmocka_unit_test(a_gap_is_shared),
		cmocka_unit_test(the_kernels_limit_holds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
