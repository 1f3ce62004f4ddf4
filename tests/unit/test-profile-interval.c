/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals: known values, and how often they cover the truth. */
#include "unit.h"

#include "profile/interval.h"

#include <math.h>

#define RUNS   400
#define SLICES 50
#define EACH   40 /* samples a slice */

static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (double)(seed >> 11) / 9007199254740992.0;
}

static void wilson_known_values(void **state)
{
	(void)state;
	/* Newcombe 1998, Statistics in Medicine 17: 81/263 and 15/148, 0/20, 1/29 */
	struct us_interval i = us_interval_wilson(81.0 / 263, 263);
	assert_float_equal(i.low, 0.2553, 0.0001);
	assert_float_equal(i.high, 0.3662, 0.0001);
	i = us_interval_wilson(15.0 / 148, 148);
	assert_float_equal(i.low, 0.0624, 0.0001);
	assert_float_equal(i.high, 0.1605, 0.0001);
	i = us_interval_wilson(0, 20);
	assert_float_equal(i.low, 0, 0);
	assert_float_equal(i.high, 0.1611, 0.0001);
	i = us_interval_wilson(1.0 / 29, 29);
	assert_float_equal(i.low, 0.0061, 0.0001);
	assert_float_equal(i.high, 0.1718, 0.0001);
	i = us_interval_wilson(1, 1);
	assert_float_equal(i.high, 1, 0);
	i = us_interval_wilson(0, 0);
	assert_float_equal(i.low, 0, 0);
	assert_float_equal(i.high, 1, 0);
}

/* 95 of 100 constructed: what is seen is always inside. */
static void contains_what_was_seen(void **state)
{
	(void)state;
	for (unsigned n = 1; n < 60; n++) {
		for (unsigned k = 0; k <= n; k++) {
			double share = (double)k / n;
			struct us_interval i = us_interval_wilson(share, n);
			assert_true(i.low >= 0 && i.low <= share);
			assert_true(i.high <= 1 && i.high >= share);
		}
	}
}

struct covered {
	unsigned wilson, ours, slices;
};

/* hot[s]: chance of the function in slice s, of mean 0.3 over the whole process. */
static void one_run(double (*chance)(unsigned slice), struct covered *c)
{
	struct us_slice_part part[SLICES];
	double weight[SLICES], sum = 0;
	struct us_slice_moments m = { .n_slice = SLICES };
	struct us_bootstrap *b;
	for (unsigned s = 0; s < SLICES; s++) {
		double p = chance(s), x = 0;
		for (unsigned i = 0; i < EACH; i++)
			x += uniform() < p;
		part[s] = (struct us_slice_part){ s, x };
		weight[s] = EACH;
		sum += x;
		m.sum_xx += x * x;
		m.sum_xn += x * EACH;
		m.sum_nn += EACH * EACH;
		m.sum_n += EACH;
	}
	double share = sum / (SLICES * EACH), truth = 0.3;
	struct us_interval w = us_interval_wilson(share, SLICES * EACH);
	assert_int_equal(us_bootstrap_new(weight, SLICES, 1000, 1, &b), 0);
	struct us_interval o = us_interval_wider(
		w, us_bootstrap_interval(b, part, SLICES));
	struct us_interval l = us_interval_wider(w, us_interval_slices(share, &m));
	us_bootstrap_free(b);
	c->wilson += w.low <= truth && truth <= w.high;
	c->ours += o.low <= truth && truth <= o.high;
	c->slices += l.low <= truth && truth <= l.high;
}

static double steady(unsigned slice)
{
	(void)slice;
	return 0.3;
}

/* A guest with phases: each slice does it nearly always, or nearly never. */
static double phases(unsigned slice)
{
	(void)slice;
	return uniform() < 0.3 ? 0.95 : (0.3 - 0.3 * 0.95) / 0.7;
}

static void cover(double (*chance)(unsigned slice), struct covered *c)
{
	seed = 42;
	*c = (struct covered){ 0 };
	for (unsigned i = 0; i < RUNS; i++)
		one_run(chance, c);
	print_message("# covers the truth: Wilson %.1f %%, ours %.1f %%, linear %.1f "
		      "%%\n",
		      100.0 * c->wilson / RUNS, 100.0 * c->ours / RUNS,
		      100.0 * c->slices / RUNS);
}

static void covers_independent_samples(void **state)
{
	(void)state;
	struct covered c;
	cover(steady, &c);
	assert_in_range(c.wilson, RUNS * 92 / 100, RUNS * 98 / 100);
	assert_in_range(c.ours, RUNS * 94 / 100, RUNS);
	assert_in_range(c.slices, RUNS * 94 / 100, RUNS);
}

static void covers_phases_where_wilson_fails(void **state)
{
	(void)state;
	struct covered c;
	cover(phases, &c);
	assert_true(c.wilson < RUNS * 50 / 100);
	assert_in_range(c.ours, RUNS * 93 / 100, RUNS);
	assert_in_range(c.slices, RUNS * 92 / 100, RUNS);
}

static void bootstrap_repeats_and_bears_nothing(void **state)
{
	(void)state;
	double weight[3] = { 10, 0, 20 }, none[2] = { 0, 0 };
	struct us_slice_part part[2] = { { 0, 5 }, { 2, 5 } };
	struct us_bootstrap *a, *b;
	assert_int_equal(us_bootstrap_new(weight, 3, 1000, 7, &a), 0);
	assert_int_equal(us_bootstrap_new(weight, 3, 1000, 7, &b), 0);
	struct us_interval x = us_bootstrap_interval(a, part, 2);
	struct us_interval y = us_bootstrap_interval(b, part, 2);
	assert_float_equal(x.low, y.low, 0);
	assert_float_equal(x.high, y.high, 0);
	assert_true(x.low >= 0.25 - 1e-6 && x.high <= 0.5 + 1e-6 && x.low < x.high);
	us_bootstrap_free(b);
	us_bootstrap_free(a);
	assert_int_equal(us_bootstrap_new(none, 2, 1000, 7, &a), 0);
	x = us_bootstrap_interval(a, NULL, 0);
	assert_float_equal(x.low, 0, 0);
	assert_float_equal(x.high, 0, 0);
	us_bootstrap_free(a);
	assert_int_equal(us_bootstrap_new(weight, 1, 1000, 7, &a), 0);
	x = us_bootstrap_interval(a, part, 1);
	assert_float_equal(x.low, 0.5, 1e-6);
	assert_float_equal(x.high, 0.5, 1e-6);
	us_bootstrap_free(a);
	us_bootstrap_free(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(wilson_known_values),
		cmocka_unit_test(contains_what_was_seen),
		cmocka_unit_test(covers_independent_samples),
		cmocka_unit_test(covers_phases_where_wilson_fails),
		cmocka_unit_test(bootstrap_repeats_and_bears_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
