/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Phases of boots, and what is said of variants: by many comparisons that are made up.
 */
#include "unit.h"

#include "boot/phases.h"

#include <math.h>

#define MS    1e6
#define RUNS  10
#define TRIES 2000
#define SIDES 4

/* The last one is wanted. */
static const struct us_boot_plan plan = {
	.point = { { .kind = US_BOOT_LAUNCH },
		   { .kind = US_BOOT_START },
		   { .kind = US_BOOT_SECTOR },
		   { .kind = US_BOOT_ENTRY },
		   { .kind = US_BOOT_SYMBOL, .wanted = true } },
	.n = 5,
};

static double chance(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005 + 1442695040888963407;
	return (double)(*seed >> 11) / 9007199254740992.0;
}

/* Phases as they are: each has a floor and a long tail. */
static void boot(struct us_boot_run *r, uint64_t *seed, bool sector, double delay_ms)
{
	double at = 0;
	*r = (struct us_boot_run){ 0 };
	for (unsigned i = 0; i < plan.n; i++) {
		if (i)
			at += 10 * MS - 2 * MS * log(1 - chance(seed));
		if (i == 4)
			at += delay_ms * MS;
		r->at[i].wall_ns = (uint64_t)at;
		r->at[i].seen = sector || plan.point[i].kind != US_BOOT_SECTOR;
	}
}

static void phases_are_the_whole(void **state)
{
	static struct us_boot_run run[2][RUNS];
	struct us_boot_side side[2] = {
		{ .plan = &plan, .run = run[0], .n_run = RUNS },
		{ .plan = &plan, .run = run[1], .n_run = RUNS }
	};
	uint64_t seed = 1;
	(void)state;
	for (unsigned i = 0; i < RUNS; i++) {
		boot(&run[0][i], &seed, true, 0);
		boot(&run[1][i], &seed, false, 0);
	}
	for (unsigned i = 1; i < RUNS; i++) { /* then medians may be added up */
		run[0][i] = run[0][0];
		run[1][i] = run[1][0];
	}
	assert_int_equal(us_boot_sides_measure(side, 2), 0);
	for (unsigned s = 0; s < 2; s++) {
		double sum = 0;
		for (unsigned k = 0; k < US_N_BOOT_PHASE; k++)
			sum += side[s].has_phase[k] ? side[s].phase[k].value : 0;
		assert_true(sum == side[s].total.value);
		assert_true(sum == (double)run[s][0].at[4].wall_ns);
	}
	assert_true(side[0].has_phase[US_BOOT_IN_LOADER]);
	assert_false(side[1].has_phase[US_BOOT_IN_LOADER]);
	assert_false(side[1].in_both[US_BOOT_IN_LOADER]);
	assert_true(side[1].in_both[US_BOOT_IN_FIRMWARE]);
}

/* What one run has not passed bounds no phase. */
static void not_in_all_runs(void **state)
{
	static struct us_boot_run run[RUNS];
	struct us_boot_side side = { .plan = &plan, .run = run, .n_run = RUNS };
	uint64_t seed = 2;
	(void)state;
	for (unsigned i = 0; i < RUNS; i++)
		boot(&run[i], &seed, i != 3, 0);
	assert_int_equal(us_boot_sides_measure(&side, 1), 0);
	assert_false(side.has_phase[US_BOOT_IN_LOADER]);
	assert_true(side.has_phase[US_BOOT_IN_FIRMWARE]);
	side.n_run = 0;
	assert_int_equal(us_boot_sides_measure(&side, 1), 0);
	assert_true(side.total.value == 0);
	assert_int_equal(us_boot_sides_measure(NULL, 0), 0);
}

/* One variant's kernel is not seen to begin: neither firmware nor loader is blamed. */
static void a_phase_without_end_is_unknown(void **state)
{
	static struct us_boot_run run[2][RUNS];
	struct us_boot_side side[2] = {
		{ .plan = &plan, .run = run[0], .n_run = RUNS },
		{ .plan = &plan, .run = run[1], .n_run = RUNS }
	};
	uint64_t seed = 5;
	(void)state;
	for (unsigned i = 0; i < RUNS; i++) {
		boot(&run[0][i], &seed, false, 0);
		boot(&run[1][i], &seed, false, 1000);
		run[1][i].at[3].seen = false;
	}
	assert_int_equal(us_boot_sides_measure(side, 2), 0);
	assert_true(side[1].has_phase[US_BOOT_IN_VMM]);
	assert_false(side[1].has_phase[US_BOOT_IN_FIRMWARE]);
	assert_false(side[1].in_both[US_BOOT_IN_FIRMWARE]);
	assert_true(side[1].has_phase[US_BOOT_UNKNOWN]);
	assert_true(side[1].phase[US_BOOT_UNKNOWN].value > 1000 * MS);
	assert_false(side[0].has_phase[US_BOOT_UNKNOWN]);
	assert_true(us_rank_differs(&side[1].later));
	/* Nor does a phase begin behind the goal. */
	for (unsigned i = 0; i < RUNS; i++)
		run[0][i].at[3].wall_ns = run[0][i].at[4].wall_ns + 1;
	assert_int_equal(us_boot_sides_measure(side, 2), 0);
	assert_false(side[0].has_phase[US_BOOT_IN_KERNEL]);
	assert_true(side[0].has_phase[US_BOOT_UNKNOWN]);
	assert_false(side[1].in_both[US_BOOT_UNKNOWN]);
}

static bool any_differs(const struct us_boot_side *s)
{
	bool any = us_rank_differs(&s->later);
	for (unsigned k = 0; k < US_N_BOOT_PHASE; k++)
		any |= s->in_both[k] && us_rank_differs(&s->later_in[k]);
	return any;
}

/* Three equal variants against a fourth, in their totals and four phases each. */
static void equal_variants(void **state)
{
	static struct us_boot_run run[SIDES][RUNS];
	uint64_t seed = 3;
	unsigned wrong = 0;
	(void)state;
	for (unsigned t = 0; t < TRIES; t++) {
		struct us_boot_side side[SIDES] = { 0 };
		bool any = false;
		for (unsigned s = 0; s < SIDES; s++) {
			side[s] = (struct us_boot_side){ .plan = &plan,
							 .run = run[s],
							 .n_run = RUNS };
			for (unsigned i = 0; i < RUNS; i++)
				boot(&run[s][i], &seed, true, 0);
		}
		assert_int_equal(us_boot_sides_measure(side, SIDES), 0);
		for (unsigned s = 1; s < SIDES; s++) {
			assert_true(side[s].later.sure);
			any |= any_differs(&side[s]);
		}
		wrong += any;
	}
	print_message("# equal variants differ in %u of %u comparisons\n", wrong,
		      TRIES);
	assert_true(wrong <= TRIES / 20);
}

/* 5 ms in the kernel are found there, and nowhere else. */
static void a_delay_is_found(void **state)
{
	static struct us_boot_run run[2][RUNS];
	uint64_t seed = 4;
	unsigned found = 0, elsewhere = 0;
	(void)state;
	for (unsigned t = 0; t < TRIES; t++) {
		struct us_boot_side side[2] = {
			{ .plan = &plan, .run = run[0], .n_run = RUNS },
			{ .plan = &plan, .run = run[1], .n_run = RUNS }
		};
		for (unsigned i = 0; i < RUNS; i++) {
			boot(&run[0][i], &seed, true, 0);
			boot(&run[1][i], &seed, true, 5);
		}
		assert_int_equal(us_boot_sides_measure(side, 2), 0);
		const struct us_estimate *kernel = &side[1].later_in[US_BOOT_IN_KERNEL];
		found += us_rank_differs(kernel) && kernel->low > 0;
		for (unsigned k = 0; k < US_BOOT_IN_KERNEL; k++)
			elsewhere += us_rank_differs(&side[1].later_in[k]);
	}
	print_message("# 5 ms are found in %u of %u, and in %u other phases\n", found,
		      TRIES, elsewhere);
	assert_true(found > TRIES * 0.95);
	assert_true(elsewhere <= TRIES / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(phases_are_the_whole),
		cmocka_unit_test(not_in_all_runs),
		cmocka_unit_test(a_phase_without_end_is_unknown),
		cmocka_unit_test(equal_variants),
		cmocka_unit_test(a_delay_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
