/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums by key and slice of time: nothing is lost when slices are joined. */
#include "unit.h"

#include "base/pair_map.h"
#include "profile/slices.h"

#define KEYS 100

static uint64_t sum_of(const struct us_slices *s, uint32_t key)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < s->sums.n; i++)
		sum += s->sums.v[i].key == key ? s->sums.v[i].weight : 0;
	return sum;
}

static void check_order(const struct us_slices *s)
{
	assert_in_range(s->n, 1, US_SLICES_MAX);
	assert_int_equal(s->start[0], 0);
	for (unsigned i = 0; i < s->n; i++)
		assert_true(s->start[i] <= s->start[i + 1]);
	assert_int_equal(s->start[s->n], s->sums.n);
}

static void sums_survive_joining(void **state)
{
	(void)state;
	struct us_slices s;
	uint64_t want[KEYS] = { 0 }, t = 0, random = 1;
	us_slices_init(&s);
	for (unsigned i = 0; i < 200000; i++) {
		random = random * 6364136223846793005 + 1442695040888963407;
		uint32_t key = (uint32_t)(random >> 40) % KEYS;
		uint32_t weight = 1 + (uint32_t)(random >> 33) % 3;
		t += (random >> 20) % 2000000;
		assert_int_equal(us_slices_add(&s, key, t, weight), 0);
		want[key] += weight;
	}
	assert_int_equal(us_slices_end(&s), 0);
	check_order(&s);
	assert_true(s.n > US_SLICES_MAX / 2);
	assert_true(t / s.width_ns == s.n - 1);
	for (uint32_t k = 0; k < KEYS; k++)
		assert_int_equal(sum_of(&s, k), want[k]);
	/* a key once a slice */
	assert_in_range(s.sums.n, 1, KEYS * s.n);
	us_slices_fini(&s);
}

/* How late the last one was is known before, about: it is the same in the end. */
static void those_that_were_expected_are_the_same(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		struct us_slices s, known;
		uint64_t t = 0, random = round;
		const unsigned n = 1000 + 977 * round;
		us_slices_init(&s);
		us_slices_init(&known);
		for (unsigned i = 0; i < n; i++)
			t += (random = random * 6364136223846793005 + 3) >> 43;
		us_slices_expect(&known, t - round * t / 40);
		t = 0;
		random = round;
		for (unsigned i = 0; i < n; i++) {
			t += (random = random * 6364136223846793005 + 3) >> 43;
			uint32_t key = (uint32_t)(random >> 40) % KEYS;
			uint64_t when = i % 9 ? t : t / 2; /* backwards too */
			assert_int_equal(us_slices_add(&s, key, when, i % 3), 0);
			assert_int_equal(us_slices_queue(&known, key, when, i % 3), 0);
		}
		assert_int_equal(us_slices_end(&s), 0);
		assert_int_equal(us_slices_end(&known), 0);
		assert_int_equal(s.n, known.n);
		assert_int_equal(s.width_ns, known.width_ns);
		assert_int_equal(s.sums.n, known.sums.n);
		assert_memory_equal(s.start, known.start, (s.n + 1) * sizeof(*s.start));
		assert_memory_equal(s.sums.v, known.sums.v,
				    s.sums.n * sizeof(*s.sums.v));
		us_slices_fini(&s);
		us_slices_fini(&known);
	}
}

static void slices_hold_their_time(void **state)
{
	(void)state;
	struct us_slices s;
	us_slices_init(&s);
	assert_int_equal(us_slices_add(&s, 7, 0, 1), 0);
	assert_int_equal(us_slices_add(&s, 7, 3 * s.width_ns, 1), 0);
	assert_int_equal(us_slices_add(&s, 7, 1, 1), 0); /* backwards: the open one */
	assert_int_equal(us_slices_end(&s), 0);
	assert_int_equal(s.n, 4);
	assert_int_equal(s.start[1], 1);
	assert_int_equal(s.start[2], 1);
	assert_int_equal(s.start[3], 1);
	assert_int_equal(s.sums.v[1].weight, 2);
	assert_int_equal(us_slices_add(&s, 7, 64 * s.width_ns, 1), 0);
	assert_int_equal(us_slices_end(&s), 0);
	assert_int_equal(s.n, 33);
	assert_int_equal(s.width_ns, 2 * US_SLICES_WIDTH_NS);
	assert_int_equal(s.sums.v[0].weight, 1);
	check_order(&s);
	us_slices_fini(&s);
}

static void extremes_are_borne(void **state)
{
	(void)state;
	struct us_slices s;
	us_slices_init(&s);
	assert_int_equal(us_slices_add(&s, 1, 5, UINT32_MAX), 0);
	assert_int_equal(us_slices_add(&s, 1, 5, UINT32_MAX), 0);
	assert_int_equal(us_slices_add(&s, 1, UINT64_MAX, 1), 0);
	assert_int_equal(us_slices_add(&s, 100000, UINT64_MAX, 1), 0);
	assert_int_equal(us_slices_end(&s), 0);
	assert_int_equal(sum_of(&s, 1), 2 * (uint64_t)UINT32_MAX + 1);
	check_order(&s);
	us_slices_fini(&s);
}

/* Weights that do not fit into one sum, in slices that are joined; and none at all. */
static void joined_sums_do_not_overflow(void **state)
{
	(void)state;
	struct us_slices s;
	us_slices_init(&s);
	for (uint32_t i = 0; i < 1000; i++) {
		uint64_t t = i * (uint64_t)US_SLICES_WIDTH_NS;
		assert_int_equal(us_slices_add(&s, 3, t, UINT32_MAX - i), 0);
		assert_int_equal(us_slices_add(&s, 4, t, 0), 0);
		assert_int_equal(us_slices_add(&s, 5 + i % 2, t, 1), 0);
	}
	assert_int_equal(us_slices_end(&s), 0);
	check_order(&s);
	assert_int_equal(sum_of(&s, 3), 1000 * (uint64_t)UINT32_MAX - 999 * 500);
	assert_int_equal(sum_of(&s, 5), 500);
	assert_int_equal(sum_of(&s, 6), 500);
	for (size_t i = 0; i < s.sums.n; i++)
		assert_true(s.sums.v[i].weight > 0 && s.sums.v[i].key != 4);
	us_slices_fini(&s);
}

static void pairs_are_found_again(void **state)
{
	(void)state;
	struct us_pair_map m = { 0 };
	for (uint64_t i = 0; i < 50000; i++) {
		uint32_t *v = us_pair_map_at(&m, i % 223, i << 32);
		assert_non_null(v);
		assert_int_equal(*v, 0);
		*v = (uint32_t)i + 1;
	}
	for (uint64_t i = 0; i < 50000; i++)
		assert_int_equal(*us_pair_map_at(&m, i % 223, i << 32), i + 1);
	assert_int_equal(m.n, 50000);
	us_pair_map_fini(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_survive_joining),
		cmocka_unit_test(those_that_were_expected_are_the_same),
		cmocka_unit_test(slices_hold_their_time),
		cmocka_unit_test(extremes_are_borne),
		cmocka_unit_test(joined_sums_do_not_overflow),
		cmocka_unit_test(pairs_are_found_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
