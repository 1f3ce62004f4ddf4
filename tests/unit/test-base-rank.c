/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Medians, differences and their intervals, against tables and by chance. */
#include "unit.h"

#include "base/rank.h"

#include <math.h>

#define TRIES 4000

static void known_ranks(void **state)
{
	/* Order statistics of the 95 % interval of a median, from printed tables. */
	static const struct {
		size_t n, low, high;
	} table[] = { { 6, 1, 6 },   { 9, 2, 8 },    { 10, 2, 9 },
		      { 20, 6, 15 }, { 50, 18, 33 }, { 100, 40, 61 } };
	(void)state;
	for (size_t t = 0; t < sizeof(table) / sizeof(table[0]); t++) {
		double v[100];
		for (size_t i = 0; i < table[t].n; i++)
			v[i] = (double)(table[t].n - i);
		struct us_estimate e = us_rank_median(v, table[t].n);
		assert_true(e.sure);
		assert_int_equal((int)e.low, (int)table[t].low);
		assert_int_equal((int)e.high, (int)table[t].high);
	}
}

static void few_values(void **state)
{
	double v[] = { 5, 1, 3, 2 };
	struct us_estimate e = us_rank_median(v, 4);
	(void)state;
	assert_false(e.sure);
	assert_true(e.value == 2.5 && e.low == 1 && e.high == 5);
	e = us_rank_median(v, 0);
	assert_true(!e.sure && e.value == 0);
	assert_int_equal(us_rank_shift(v, 3, v, 3, US_RANK_LEVEL, &e), 0);
	assert_false(us_rank_differs(&e));
}

/* Critical values of U, two-sided 5 %: 8 and 8: 13; 5 and 5: 2; 10 and 20: 55. */
static void known_tests(void **state)
{
	static const struct {
		size_t n_a, n_b, u;
	} table[] = { { 8, 8, 13 }, { 5, 5, 2 }, { 10, 20, 55 }, { 4, 4, 0 } };
	(void)state;
	for (size_t t = 0; t < sizeof(table) / sizeof(table[0]); t++) {
		double a[20], b[20];
		size_t n = table[t].n_a * table[t].n_b;
		/* All differences are different, and known: 0 to n - 1. */
		for (size_t i = 0; i < table[t].n_a; i++)
			a[i] = -(double)i;
		for (size_t i = 0; i < table[t].n_b; i++)
			b[i] = (double)(i * table[t].n_a);
		struct us_estimate e;
		assert_int_equal(us_rank_shift(a, table[t].n_a, b, table[t].n_b,
					       US_RANK_LEVEL, &e),
				 0);
		assert_true(e.sure);
		assert_int_equal((int)e.low, (int)table[t].u);
		assert_int_equal((int)e.high, (int)(n - 1 - table[t].u));
	}
}

static double chance(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005 + 1442695040888963407;
	return (double)(*seed >> 11) / 9007199254740992.0;
}

/* As start-up times are: a floor, and a long tail. */
static double any_time(uint64_t *seed)
{
	return 10 - log(1 - chance(seed));
}

/* Equal sets are told apart in no more than one of 20, different ones nearly always. */
static void equal_and_not(void **state)
{
	uint64_t seed = 1;
	unsigned equal = 0, longer = 0;
	(void)state;
	for (unsigned t = 0; t < TRIES; t++) {
		double a[10], b[10];
		struct us_estimate e;
		for (unsigned i = 0; i < 10; i++) {
			a[i] = any_time(&seed);
			b[i] = any_time(&seed);
		}
		assert_int_equal(us_rank_shift(a, 10, b, 10, US_RANK_LEVEL, &e), 0);
		equal += us_rank_differs(&e);
		for (unsigned i = 0; i < 10; i++)
			b[i] += 5;
		assert_int_equal(us_rank_shift(a, 10, b, 10, US_RANK_LEVEL, &e), 0);
		longer += us_rank_differs(&e) && e.low > 0;
	}
	print_message("# equal sets differ in %u of %u, others in %u\n", equal, TRIES,
		      longer);
	assert_true(equal < TRIES / 20 * 1.2 && equal > TRIES / 50);
	assert_true(longer > TRIES * 0.99);
}

/* Large sets: the normal distribution in place of the exact one. */
static void large_sets(void **state)
{
	static double a[200], b[150];
	uint64_t seed = 2;
	struct us_estimate e;
	(void)state;
	for (unsigned i = 0; i < 200; i++)
		a[i] = any_time(&seed);
	for (unsigned i = 0; i < 150; i++)
		b[i] = any_time(&seed) + 1;
	assert_int_equal(us_rank_shift(a, 200, b, 150, US_RANK_LEVEL, &e), 0);
	assert_true(us_rank_differs(&e) && e.low < 1 && e.high > 1);
}

/* What the test says agrees with what the interval leaves out, at any level, also
 * where values are equal. */
static void chance_and_interval_agree(void **state)
{
	static const size_t sizes[][2] = { { 5, 5 }, { 10, 7 }, { 3, 12 }, { 70, 65 } };
	uint64_t seed = 3;
	unsigned differ = 0;
	(void)state;
	for (unsigned t = 0; t < 400; t++) {
		double a[70], b[70], p, level = 0.1 * chance(&seed);
		size_t n_a = sizes[t % 4][0], n_b = sizes[t % 4][1];
		struct us_estimate e;
		for (size_t i = 0; i < n_a; i++)
			a[i] = floor(20 * chance(&seed));
		for (size_t i = 0; i < n_b; i++)
			b[i] = floor(20 * chance(&seed) + t % 7);
		assert_int_equal(us_rank_chance(a, n_a, b, n_b, &p), 0);
		assert_int_equal(us_rank_shift(a, n_a, b, n_b, level, &e), 0);
		assert_int_equal(us_rank_differs(&e), p <= level);
		differ += p <= level;
	}
	assert_true(differ > 50 && differ < 350);
}

/* Holm's own: with 4 chances 0.01, 0.04, 0.03, 0.005 at 0.05 the two least hold. */
static void levels_are_shared_out(void **state)
{
	const double chances[] = { 0.01, 0.04, 0.03, 0.005 };
	double level[4];
	(void)state;
	us_rank_share_out(chances, 4, 0.05, level);
	assert_true(fabs(level[3] - 0.05 / 4) < 1e-12);
	assert_true(fabs(level[0] - 0.05 / 3) < 1e-12);
	assert_true(fabs(level[1] - 0.05 / 2) < 1e-12);
	assert_true(fabs(level[2] - 0.05 / 2) < 1e-12);
	us_rank_share_out(chances, 0, 0.05, level);
	us_rank_share_out(chances + 3, 1, 0.05, level);
	assert_true(level[0] == 0.05);
}

#define FEW 12

/* Of equal variants, any of many comparisons is wrong in no more than one of 20. */
static void equal_in_everything(void **state)
{
	uint64_t seed = 4;
	unsigned wrong = 0, single = 0;
	(void)state;
	for (unsigned t = 0; t < TRIES; t++) {
		static double a[FEW][10], b[FEW][10];
		double p[FEW], level[FEW];
		bool any = false, plain = false;
		for (unsigned k = 0; k < FEW; k++) {
			for (unsigned i = 0; i < 10; i++) {
				a[k][i] = any_time(&seed);
				b[k][i] = any_time(&seed);
			}
			assert_int_equal(us_rank_chance(a[k], 10, b[k], 10, &p[k]), 0);
			plain |= p[k] <= US_RANK_LEVEL;
		}
		us_rank_share_out(p, FEW, US_RANK_LEVEL, level);
		for (unsigned k = 0; k < FEW; k++) {
			struct us_estimate e;
			assert_int_equal(
				us_rank_shift(a[k], 10, b[k], 10, level[k], &e), 0);
			any |= us_rank_differs(&e);
		}
		wrong += any;
		single += plain;
	}
	print_message("# of %u times %d equal comparisons, one differs in %u; were "
		      "each alone, in %u\n",
		      TRIES, FEW, wrong, single);
	assert_true(wrong < TRIES / 20 * 1.2);
	assert_true(single > TRIES / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_ranks),
		cmocka_unit_test(few_values),
		cmocka_unit_test(known_tests),
		cmocka_unit_test(equal_and_not),
		cmocka_unit_test(large_sets),
		cmocka_unit_test(chance_and_interval_agree),
		cmocka_unit_test(levels_are_shared_out),
		cmocka_unit_test(equal_in_everything),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
