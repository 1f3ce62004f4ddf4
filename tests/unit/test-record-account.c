/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test-record-account.c: the books balance, and the quantiles are what they say. */
#include "unit.h"

#include "record/account.h"

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static void assert_balance(const struct us_record_stats *s)
{
	assert_int_equal(s->due, s->running + s->idle + s->off + s->late +
					 s->backed_off + s->failed + s->lost);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void quantiles_bound_the_truth_closely(void **state)
{
	(void)state;
	static struct us_histogram h;
	static uint64_t v[10001];
	static const double share[] = { 0.001, 0.5, 0.9, 0.99, 0.9999, 1 };
	for (unsigned width = 1; width <= 64; width += 3) {
		uint64_t random = width;
		memset(&h, 0, sizeof(h));
		for (unsigned i = 0; i < 10001; i++) {
			v[i] = next_random(&random) >> (64 - width);
			us_histogram_add(&h, v[i]);
		}
		qsort(v, 10001, sizeof(*v), compare);
		for (unsigned i = 0; i < 6; i++) {
			/* The least value that this share of them does not exceed. */
			double need = share[i] * 10001;
			unsigned k = (unsigned)need + ((double)(unsigned)need < need);
			uint64_t truth = v[k - 1];
			uint64_t got = us_histogram_quantile(&h, share[i]);
			assert_true(got >= truth && got - truth <= truth / 32);
		}
		assert_true(us_histogram_quantile(&h, 1) == v[10000]);
	}
}

static void quantiles_at_the_edges(void **state)
{
	(void)state;
	static struct us_histogram h;
	assert_int_equal(us_histogram_quantile(&h, 0.5), 0);
	us_histogram_add(&h, 0);
	assert_int_equal(us_histogram_quantile(&h, 0.5), 0);
	us_histogram_add(&h, UINT64_MAX);
	assert_true(us_histogram_quantile(&h, 0.99) == UINT64_MAX);
	assert_int_equal(us_histogram_quantile(&h, 0.5), 0);
}

static void every_state_has_its_count(void **state)
{
	(void)state;
	static struct us_account a;
	struct us_record_stats s;
	struct us_backend_counts counts = { .late = 7,
					    .backed_off = 11,
					    .failed = 13,
					    .stolen_ns = 17,
					    .vcpu_ns = 19 };
	for (uint8_t v = 0; v < US_N_VCPU_STATE; v++) {
		struct us_sample x = { .state = v, .weight = 1U << 4 * v };
		us_account_add(&a, &x, 100, true);
		x.weight = 2;
		us_account_add(&a, &x, 0, false);
	}
	us_account_sum(&a, &counts, 23, &s);
	assert_int_equal(s.running, 0x1011);
	assert_int_equal(s.idle, 0x100);
	assert_int_equal(s.off, 0x10000);
	assert_int_equal(s.lost, 2 * US_N_VCPU_STATE);
	assert_int_equal(s.truncated, 0);
	assert_int_equal(s.late, 7);
	assert_int_equal(s.backed_off, 11);
	assert_int_equal(s.failed, 13);
	assert_int_equal(s.stolen_ns, 17);
	assert_int_equal(s.vcpu_ns, 19);
	assert_int_equal(s.elapsed_ns, 23);
	assert_int_equal(s.held_p50_ns, 100);
	assert_int_equal(s.held_max_ns, 100);
	assert_balance(&s);
	/* The guest was held longest for a sample that failed. */
	counts.held_max_ns = 1000;
	us_account_sum(&a, &counts, 23, &s);
	assert_int_equal(s.held_p99_ns, 100);
	assert_int_equal(s.held_max_ns, 1000);
}

static void cut_stacks_of_running_vcpus_are_truncated(void **state)
{
	(void)state;
	static struct us_account a;
	struct us_record_stats s;
	const struct us_backend_counts none = { 0 };
	for (uint8_t end = 0; end < US_N_END; end++) {
		struct us_sample x = { .end = end, .weight = 1 };
		us_account_add(&a, &x, 0, true);
		us_account_add(&a, &x, 0, false);
		x.state = US_VCPU_HALTED;
		us_account_add(&a, &x, 0, true);
	}
	us_account_sum(&a, &none, 0, &s);
	assert_int_equal(s.truncated, US_N_END - 2);
	assert_int_equal(s.running, US_N_END);
	assert_balance(&s);
}

static void what_nobody_explains_has_failed(void **state)
{
	(void)state;
	static const uint64_t due[] = { 0, 10, 12, 13, 20 };
	static const uint64_t failed[] = { 0, 0, 0, 3, 10 };
	for (unsigned i = 0; i < 5; i++) {
		struct us_record_stats s = { .due = 10, .running = 10 };
		const struct us_backend_counts counts = { .due = due[i] };
		us_account_close(&s, &counts, 2);
		assert_int_equal(s.failed, failed[i]);
		assert_balance(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_bound_the_truth_closely),
		cmocka_unit_test(quantiles_at_the_edges),
		cmocka_unit_test(every_state_has_its_count),
		cmocka_unit_test(cut_stacks_of_running_vcpus_are_truncated),
		cmocka_unit_test(what_nobody_explains_has_failed),
	};
	return cmocka_run_group_tests_name("record-account", tests, NULL, NULL);
}
