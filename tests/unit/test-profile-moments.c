/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moments: all samples of a short recording, an even part of a long one. */
#include "unit.h"

#include "profile/moments.h"

#include <stdlib.h>

static uint64_t kept(const struct us_moments *m, unsigned vcpu, uint64_t from,
		     uint64_t to)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].lane == vcpu && m->v[i].t_ns >= from && m->v[i].t_ns < to)
			sum += m->v[i].weight;
	return sum * m->every;
}

static void is_about(uint64_t got, uint64_t want)
{
	if (llabs((long long)(got - want)) > (long long)want / 20)
		fail_msg("%llu, not about %llu", (unsigned long long)got,
			 (unsigned long long)want);
}

static void all_of_a_short_one_are_kept(void **state)
{
	(void)state;
	struct us_moments m;
	us_moments_init(&m);
	for (uint32_t i = 0; i < US_MOMENTS_MAX; i++)
		assert_int_equal(
			us_moments_add(&m, &(struct us_moment){ .t_ns = i,
								.key = i,
								.weight = i % 3 }),
			0);
	assert_int_equal(m.every, 1);
	assert_int_equal(m.n, US_MOMENTS_MAX - (US_MOMENTS_MAX + 2) / 3);
	for (size_t i = 0; i < m.n; i++)
		assert_int_equal(m.v[i].weight, m.v[i].t_ns % 3);
	us_moments_fini(&m);
}

/* Two vCPUs in turn, of which one has three times the weight: each keeps its share in
 * each part of the time. */
static void a_long_one_is_thinned_evenly(void **state)
{
	(void)state;
	const uint64_t n = 3000000;
	struct us_moments m;
	us_moments_init(&m);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(
			us_moments_add(&m, &(struct us_moment){ .t_ns = i,
								.weight = i % 2 ? 3 : 1,
								.lane = i % 2 }),
			0);
	assert_true(m.every > 1 && !(m.every & (m.every - 1)));
	assert_in_range(m.n, US_MOMENTS_MAX / 3, US_MOMENTS_MAX);
	for (unsigned part = 0; part < 10; part++) {
		uint64_t from = part * n / 10, to = from + n / 10;
		is_about(kept(&m, 0, from, to), n / 20);
		is_about(kept(&m, 1, from, to), 3 * n / 20);
	}
	us_moments_fini(&m);
}

/* Those that are passed over are none that would have been taken. */
static void none_is_passed_over_that_is_taken(void **state)
{
	(void)state;
	struct us_moments m, all;
	us_moments_init(&m);
	us_moments_init(&all);
	for (uint64_t i = 0; i < 1000000; i++) {
		struct us_moment x = { .t_ns = i, .weight = i % 7 ? i % 3 : 40 };
		assert_int_equal(us_moments_add(&all, &x), 0);
		if (!us_moments_skip(&m, x.weight))
			assert_int_equal(us_moments_add(&m, &x), 0);
	}
	assert_int_equal(m.n, all.n);
	assert_int_equal(m.seen, all.seen);
	assert_int_equal(m.every, all.every);
	for (size_t i = 0; i < m.n; i++)
		assert_true(m.v[i].t_ns == all.v[i].t_ns &&
			    m.v[i].weight == all.v[i].weight);
	us_moments_fini(&m);
	us_moments_fini(&all);
}

/* One that stands for a million others is not lost, nor more than it is. */
static void heavy_ones_keep_their_weight(void **state)
{
	(void)state;
	struct us_moments m;
	us_moments_init(&m);
	for (uint64_t i = 0; i < 300000; i++)
		assert_int_equal(us_moments_add(&m,
						&(struct us_moment){
							.t_ns = i,
							.weight = i % 1000 ? 1 : 100000,
							.lane = !(i % 1000) }),
				 0);
	is_about(kept(&m, 0, 0, 300000), 299700);
	is_about(kept(&m, 1, 0, 300000), 30000000);
	us_moments_fini(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_a_short_one_are_kept),
		cmocka_unit_test(a_long_one_is_thinned_evenly),
		cmocka_unit_test(none_is_passed_over_that_is_taken),
		cmocka_unit_test(heavy_ones_keep_their_weight),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
