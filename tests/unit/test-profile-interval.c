/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals: known values, and what they do at the edges. */
#include "unit.h"

#include "profile/interval.h"
#include "profile/profile.h"
#include "store/store.h"

#include <math.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#define RUNS 400

/* Functions of a recording: some large ones, many small ones. */
#define N_FUNC	   100
#define FIRST_FUNC 0x10000

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

static struct us_span_error of_samples(double share, double n)
{
	return (struct us_span_error){ .share = share,
				       .n = n,
				       .spread = US_UNIFORM_SPREAD,
				       .compared = n,
				       .compared_share = share,
				       .compared_n = n,
				       .block = us_block_size(n) };
}

static void set_changes(struct us_span_error *x, enum us_lag_sum sum, unsigned k,
			double half_square)
{
	x->changes[sum] += us_lag_weight(sum, x->block, k) * half_square;
}

/* changes: of samples that differ as often as independent ones do. */
static struct us_span_error independent(double share, double n)
{
	struct us_span_error x = of_samples(share, n);
	for (unsigned i = 0; i < US_N_LAG_SUM; i++)
		for (unsigned k = 1; k <= US_LAGS; k++)
			set_changes(&x, i, k, share * (1 - share));
	return x;
}

static void is_binomial(const struct us_span_error *x)
{
	double v = us_span_variance(x) / (x->share * (1 - x->share));
	assert_true(v > 0.99 && v < 1.1);
	struct us_interval i = us_interval_span(x);
	struct us_interval w = us_interval_wilson(x->share, x->n);
	assert_float_equal(i.low, w.low, 0.002);
	assert_float_equal(i.high, w.high, 0.002);
}

static void independent_samples_are_binomial(void **state)
{
	(void)state;
	for (double share = 0.05; share < 1; share += 0.05) {
		struct us_span_error x = independent(share, 1000);
		is_binomial(&x);
		x.fit = US_FIT_BY_DISTANCE;
		x.changes[US_LAG_FIT] = 0;
		for (unsigned i = 1; i <= US_DISTANCES; i++)
			x.changes[US_LAG_FIT] += us_distance_weight[i] * share *
						 (1 - share);
		is_binomial(&x);
	}
}

/* Of visits of 50 and gaps of 200 periods two instants differ in proportion to how far
 * they are apart: what the distances vary, and a little for each change. */
static void slow_visits_are_counted_by_the_clock(void **state)
{
	(void)state;
	double share = 0.2, one = share * (1 - share);
	struct us_span_error x = of_samples(share, 10000);
	x.fit = US_FIT_BY_DISTANCE;
	for (unsigned i = 0; i < US_DISTANCES; i++)
		x.changes[US_LAG_FIT] +=
			us_distance_weight[i + 1] *
			(US_DISTANCE_FROM + (i + 0.5) * US_DISTANCE_STEP) / 250;
	double v = us_span_variance(&x) / one;
	assert_true(v > US_UNIFORM_SPREAD && v < 1.25 * US_UNIFORM_SPREAD);
}

static void weights_of_pairs_leave_nothing(void **state)
{
	(void)state;
	double distances = us_distance_weight[0], fit = 0, ticks = 0;
	for (unsigned i = 1; i <= US_DISTANCES; i++)
		distances += us_distance_weight[i];
	for (unsigned k = 0; k <= US_LAGS; k++)
		fit += us_lag_weight(US_LAG_FIT, 0, k);
	assert_float_equal(distances, 1, 0.001);
	assert_float_equal(fit, 1, 0.001);
	for (unsigned k = 0; k <= US_TICK_LAGS; k++)
		ticks += us_tick_weight[k];
	assert_float_equal(ticks, 1, 0.001);
	for (double n = 1; n < 1e6; n *= 3) {
		unsigned size = us_block_size(n);
		double block = 0;
		assert_in_range(size, 2, US_LAGS + 1);
		for (unsigned k = 0; k <= US_LAGS; k++)
			block += us_lag_weight(US_LAG_BLOCK, size, k);
		assert_float_equal(block, 1, 1e-9);
	}
}

/* In one of seven samples, always: as if each round of the guest were looked at once.
 * Few samples cannot show that. */
static void regular_visits_are_no_chance(void **state)
{
	(void)state;
	double share = 1 / 7.0, one = share * (1 - share);
	struct us_span_error x = of_samples(share, 10000);
	for (unsigned i = 0; i < US_N_LAG_SUM; i++)
		for (unsigned k = 1; k <= US_LAGS; k++)
			set_changes(&x, i, k, k % 7 ? share : 0);
	assert_true(us_span_variance(&x) < 0.3 * one);
	assert_true(us_span_variance(&x) > US_UNIFORM_SPREAD * one);
	x.compared = 8;
	assert_true(us_span_variance(&x) > 0.9 * one);
}

/* Blocks of ticks are low where none of a few periods kept step with the guest: that
 * shows nothing.  Of many it does. */
static void few_periods_of_a_timer_show_nothing(void **state)
{
	(void)state;
	struct us_span_error x = of_samples(0.5, 300);
	x.fit = US_FIT_BY_TICKS;
	x.spread = 0.02;
	x.block = US_TICK_BLOCK;
	for (unsigned k = 1; k <= US_TICK_LAGS; k++)
		x.changes[US_LAG_FIT] += us_tick_weight[k] * 0.25;
	for (unsigned k = 1; k < US_TICK_BLOCK; k++)
		set_changes(&x, US_LAG_BLOCK, k, 0.25 * (k % 2 ? 1.3 : 0.75));
	x.periods = 4;
	assert_true(us_span_variance(&x) > 0.25);
	x.periods = 400;
	x.compared = x.n = 1e4;
	assert_true(us_span_variance(&x) < 0.2);
}

static void what_never_changes_is_as_sure_as_the_distances(void **state)
{
	(void)state;
	struct us_span_error x = { .share = 0.5,
				   .n = 10000,
				   .compared_share = 0.5,
				   .compared_n = 10000,
				   .spread = US_UNIFORM_SPREAD };
	double uniform = us_span_variance(&x) / 0.25;
	assert_true(uniform > US_UNIFORM_SPREAD && uniform < 1.1 * US_UNIFORM_SPREAD);
	x.spread = 1; /* exponential distances: independent samples */
	assert_true(us_span_variance(&x) >= 0.25);
	x.spread = 0; /* a clockwork: less, but not nothing */
	assert_true(us_span_variance(&x) < uniform * 0.25);
	assert_true(us_span_variance(&x) > 0);
}

/* What looks slow by the number of samples in between, on a host that is busy. */
static void late_samples_are_nearly_independent(void **state)
{
	(void)state;
	struct us_span_error x = { .share = 0.5,
				   .n = 400,
				   .compared_share = 0.5,
				   .compared_n = 400,
				   .spread = 0.3,
				   .fit = US_FIT_BY_NUMBER };
	double late = us_span_variance(&x) / 0.25;
	x.fit = US_FIT_BY_DISTANCE; /* of these it is known how far they are apart */
	double known = us_span_variance(&x) / 0.25;
	assert_true(late > 0.7 && late <= 1.2);
	assert_true(known < 0.5);
	x.fit = US_FIT_BY_NUMBER;
	x.spread = US_UNIFORM_SPREAD; /* nor does it matter where they come as they
					 should */
	assert_true(us_span_variance(&x) < 0.1 * 1.2);
}

/* Few hits cannot show that they change seldom: no interval of no width. */
static void few_hits_are_not_believed(void **state)
{
	(void)state;
	for (double hits = 0; hits < 3; hits++) {
		struct us_span_error x = { .share = hits / 1000,
					   .n = 1000,
					   .compared_share = hits / 1000,
					   .compared_n = 1000,
					   .spread = US_UNIFORM_SPREAD };
		struct us_interval i = us_interval_span(&x);
		struct us_interval w = us_interval_wilson(hits / 1000, 1000);
		assert_true(i.high - i.low > 0.6 * (w.high - w.low));
		assert_true(i.low <= hits / 1000 && i.high > hits / 1000);
	}
	struct us_span_error none = { .spread = 1 };
	struct us_interval i = us_interval_span(&none);
	assert_float_equal(i.low, 0, 0);
	assert_float_equal(i.high, 1, 0);
}

/* A share that drifts, of samples that are otherwise nothing but noise. */
static struct us_interval long_run_of(double drift)
{
	double sum[US_COSINES] = { 0 }, wave[US_COSINES], hits = 0;
	enum { N = 2000 };
	static bool in[N];
	for (unsigned i = 0; i < N; i++) {
		in[i] = uniform() < 0.5 + drift * ((double)i / N - 0.5);
		hits += in[i];
	}
	for (unsigned i = 0; i < N; i++) {
		us_cosines_at((i + 0.5) / N, wave);
		for (unsigned j = 0; j < US_COSINES; j++)
			sum[j] += (in[i] - hits / N) * wave[j];
	}
	return us_interval_long_run(hits / N, N, sum);
}

static void the_long_run_covers_steady_guests(void **state)
{
	(void)state;
	unsigned inside = 0;
	double width = 0;
	seed = 42;
	for (unsigned i = 0; i < RUNS; i++) {
		struct us_interval x = long_run_of(0);
		inside += x.low <= 0.5 && 0.5 <= x.high;
		width += (x.high - x.low) / RUNS;
	}
	print_message("# inside %.1f %%, width %.4f\n", 100.0 * inside / RUNS, width);
	assert_in_range(inside, RUNS * 93 / 100, RUNS * 98 / 100);
	assert_true(width < 1.3 * 3.92 * sqrt(0.25 / 2000));
}

static void the_long_run_is_wide_where_the_guest_drifts(void **state)
{
	(void)state;
	seed = 42;
	struct us_interval x = long_run_of(0.9);
	assert_true(x.high - x.low > 0.5);
	double none[US_COSINES] = { 0 };
	x = us_interval_long_run(0.5, 0, none);
	assert_float_equal(x.high - x.low, 1, 0);
	x = us_interval_long_run(0.5, 100, none);
	assert_true(x.low < 0.5 && x.high > 0.5);
}

/* Sums over it and over all samples differ by rounding only. */
static void what_is_all_there_is_is_as_sure_as_its_samples(void **state)
{
	(void)state;
	double sum[US_COSINES];
	for (unsigned i = 0; i < US_COSINES; i++)
		sum[i] = 1e-12;
	struct us_interval x = us_interval_long_run(1, 2000, sum);
	assert_true(x.low > 0.99 && x.low < 1);
	assert_float_equal(x.high, 1, 0);
	x = us_interval_long_run(0, 2000, sum);
	assert_float_equal(x.low, 0, 0);
	assert_true(x.high > 0 && x.high < 0.01);
}

static double part_of(unsigned func)
{
	static const double large[] = { 0.3, 0.2, 0.1 };
	return func < 3 ? large[func] : 0.4 / (N_FUNC - 3);
}

static unsigned any_function(void)
{
	double at = uniform();
	unsigned func = 0;
	while (func < N_FUNC - 1 && at >= part_of(func))
		at -= part_of(func++);
	return func;
}

/* Of samples that are independent of each other.  vary: their distances are those of
 * the sampler, else all are the same. */
static struct us_profile *independent_recording(unsigned n, bool vary)
{
	struct us_writer *w;
	struct us_profile *p;
	double t_ns = 0;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_true(fd >= 0 && us_writer_open(fd, &w, NULL) == 0);
	for (unsigned i = 0; i < n; i++) {
		us_gva pc = FIRST_FUNC + any_function() * US_UNKNOWN_CODE_BYTES;
		struct us_sample s = { .t_ns = (uint64_t)t_ns,
				       .state = US_VCPU_GUEST,
				       .end = US_END_ROOT,
				       .weight = 1 };
		assert_int_equal(us_writer_sample(w, &s, &pc, NULL, 1, NULL), 0);
		t_ns += 1e6 * (vary ? 0.5 + uniform() : 1);
	}
	assert_int_equal(us_writer_end(w, &(struct us_record_stats){ 0 },
				       US_RECORD_DONE, "", NULL),
			 0);
	us_writer_close(w);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(us_profile_read(fd, NULL, &p, NULL), 0);
	close(fd);
	return p;
}

/* How many of the intervals hold the true share. */
static void count_inside(const struct us_profile *p, unsigned *span, unsigned *long_run)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	*span = *long_run = 0;
	for (size_t i = 0; i < n; i++) {
		double part = part_of(
			(unsigned)((f[i].start - FIRST_FUNC) / US_UNKNOWN_CODE_BYTES));
		*span += f[i].self_low <= part && part <= f[i].self_high;
		*long_run += f[i].self_long_low <= part && part <= f[i].self_long_high;
	}
}

/* Of a long recording a part of the samples is compared.  What is in this part by
 * chance must not be taken for the whole. */
static void a_part_of_the_samples_is_not_all_of_them(void **state)
{
	(void)state;
	for (unsigned vary = 0; vary < 2; vary++)
		for (unsigned n = 20000; n <= 200000; n *= 10) {
			unsigned span, long_run;
			seed = n + vary;
			struct us_profile *p = independent_recording(n, vary);
			count_inside(p, &span, &long_run);
			print_message("# %u samples: inside %u, long run %u of %d\n", n,
				      span, long_run, N_FUNC);
			assert_in_range(span, 90, N_FUNC);
			assert_in_range(long_run, 90, N_FUNC);
			us_profile_free(p);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(wilson_known_values),
		cmocka_unit_test(contains_what_was_seen),
		cmocka_unit_test(independent_samples_are_binomial),
		cmocka_unit_test(slow_visits_are_counted_by_the_clock),
		cmocka_unit_test(weights_of_pairs_leave_nothing),
		cmocka_unit_test(regular_visits_are_no_chance),
		cmocka_unit_test(few_periods_of_a_timer_show_nothing),
		cmocka_unit_test(what_never_changes_is_as_sure_as_the_distances),
		cmocka_unit_test(late_samples_are_nearly_independent),
		cmocka_unit_test(few_hits_are_not_believed),
		cmocka_unit_test(the_long_run_covers_steady_guests),
		cmocka_unit_test(the_long_run_is_wide_where_the_guest_drifts),
		cmocka_unit_test(what_is_all_there_is_is_as_sure_as_its_samples),
		cmocka_unit_test(a_part_of_the_samples_is_not_all_of_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
