/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals cover the truth of guests that are invented as often as they say, and are
 * no wider than need be.  Fixed seeds: what passes once passes always. docs/accuracy.md
 * has the whole table. */
#include "unit.h"

#include "../calibration/calibration.h"

#define MS 1e6

static struct verdict run_ticks(struct guest_kind guest, double hz, double seconds,
				double cpu)
{
	struct trial t = { .guest = guest,
			   .cpu = cpu,
			   .hz = hz,
			   .seconds = seconds,
			   .n_vcpu = 1,
			   .n_run = 100,
			   .late_ns = 20000,
			   .seed = 1 };
	struct verdict v;
	assert_true(calibrate(&t, &v));
	print_message("# %s at %.0f Hz, %.2g s: inside %.1f %%, width %.2f; long run "
		      "%.1f %%, %.2f\n",
		      guest.name, hz, seconds, 100 * v.span_inside, v.span_width,
		      100 * v.long_inside, v.long_width);
	return v;
}

static struct verdict run(struct guest_kind guest, double hz, double seconds)
{
	return run_ticks(guest, hz, seconds, 0);
}

/* Of 300 intervals that depend on each other. */
static void is_honest(struct guest_kind guest, double hz, double seconds, double most)
{
	struct verdict v = run(guest, hz, seconds);
	assert_true(v.span_inside >= 0.91);
	assert_true(v.span_width <= most);
}

/* By bpf.  Samples do not count the same, and a host that others use as well has most
 * of the time for these. */
static void ticks_of_a_busy_host(void **state)
{
	static const struct guest_kind guests[] = {
		{ "steady", STEADY, 0, 0, 0 },
		{ "cycle of 1.4 ms", CYCLE, 1.38 * MS, 0, 0.05 },
		{ "cycle of 2 ms", CYCLE, 2 * MS, 0, 0.05 },
		{ "cycle of 10 ms", CYCLE, 10 * MS, 0, 0.05 },
		{ "bursts of 0.5 ms", BURSTS, 1.5 * MS, 0, 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(guests) / sizeof(*guests); i++) {
		struct verdict v = run_ticks(guests[i], 997, 0.28, 0.14);
		assert_true(v.span_inside >= 0.91);
		assert_true(v.span_width <= 1.4);
	}
	struct verdict v = run_ticks(guests[1], 997, 2, 1);
	assert_true(v.span_inside >= 0.91);
	assert_true(v.span_width <= 1.2);
}

static void steady_guests(void **state)
{
	(void)state;
	struct guest_kind g = { "steady", STEADY, 0, 0, 0 };
	is_honest(g, 100, 5, 1.2);
	is_honest(g, 997, 1, 1.2);
}

static void cycles_far_from_the_period(void **state)
{
	(void)state;
	is_honest((struct guest_kind){ "cycle of 0.1 ms", CYCLE, 0.1 * MS, 0, 0.05 },
		  997, 1, 1.2);
	is_honest((struct guest_kind){ "cycle of 100 ms", CYCLE, 100 * MS, 0, 0.05 },
		  997, 5, 1.4);
	is_honest((struct guest_kind){ "cycle of 1 s", CYCLE, 1000 * MS, 0, 0.05 }, 997,
		  5, 1.4);
}

static void a_cycle_of_the_period_itself(void **state)
{
	(void)state;
	is_honest((struct guest_kind){ "anti-phase", CYCLE, 0, 0, 0 }, 997, 1, 1.2);
}

static void few_samples_of_a_phase(void **state)
{
	(void)state;
	struct guest_kind g = { "cycle of 1 s", CYCLE, 1000 * MS, 0, 0.05 };
	is_honest(g, 100, 1, 1.4);
	g = (struct guest_kind){ "cycle of 10 ms", CYCLE, 10 * MS, 0, 0.05 };
	is_honest(g, 997, 1, 1.3);
	g = (struct guest_kind){ "bursts of 50 ms", BURSTS, 150 * MS, 0, 0 };
	is_honest(g, 100, 1, 1.4);
	g = (struct guest_kind){ "idle half, slow", CYCLE, 1000 * MS, 0.5, 0.05 };
	is_honest(g, 100, 1, 1.5);
}

static void idle_guests(void **state)
{
	(void)state;
	struct guest_kind g = { "idle half", CYCLE, 100 * MS, 0.5, 0.05 };
	is_honest(g, 997, 5, 1.3);
	/* Busy for five periods only. */
	g.idle = 0.95;
	is_honest(g, 997, 5, 1.5);
}

/* Only a part of the samples is compared with each other. */
static void rare_functions_of_long_recordings(void **state)
{
	static const double parts[N_FUNC] = { 0.979, 0.02, 0.001 };
	struct trial t = { .guest = { "steady, rare", STEADY, 0, 0, 0 },
			   .hz = 10000,
			   .seconds = 12,
			   .n_vcpu = 1,
			   .n_run = 40,
			   .late_ns = 20000,
			   .seed = 1,
			   .parts = parts };
	struct verdict v;
	(void)state;
	assert_true(calibrate(&t, &v));
	print_message("# rare functions: inside %.1f %%, width %.2f\n",
		      100 * v.span_inside, v.span_width);
	assert_true(v.span_inside >= 0.91);
	assert_true(v.span_width <= 1.2);
}

/* Slower than the recording is long: each phase may be seen or not, and how the long
 * run will be is not known, but that it is not known must show. */
static void the_long_run_of_a_slow_cycle_is_wide(void **state)
{
	(void)state;
	struct verdict v = run((struct guest_kind){ "bursts", BURSTS, 150 * MS, 0, 0 },
			       997, 5);
	assert_true(v.long_inside >= 0.91);
	assert_true(v.long_width <= 1.5);
	v = run((struct guest_kind){ "cycle of 3 s", CYCLE, 3000 * MS, 0, 0.05 }, 997,
		5);
	assert_true(v.long_inside >= 0.93);
	assert_true(v.long_width > 1.5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(steady_guests),
		cmocka_unit_test(ticks_of_a_busy_host),
		cmocka_unit_test(cycles_far_from_the_period),
		cmocka_unit_test(a_cycle_of_the_period_itself),
		cmocka_unit_test(few_samples_of_a_phase),
		cmocka_unit_test(idle_guests),
		cmocka_unit_test(rare_functions_of_long_recordings),
		cmocka_unit_test(the_long_run_of_a_slow_cycle_is_wide),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
