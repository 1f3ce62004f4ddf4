/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stretches of samples: whole ones, at equal distances, of any length of recording. */
#include "unit.h"

#include "profile/stretches.h"

static void add(struct us_stretches *s, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(
			us_stretches_add(s, &(struct us_stretch_sample){ .t_ns = i }),
			0);
}

/* Those that are passed over are none that would have been kept. */
static void none_is_passed_over_that_is_kept(void **state)
{
	(void)state;
	struct us_stretches s, all;
	us_stretches_init(&s);
	us_stretches_init(&all);
	add(&all, 100 * US_STRETCH + 5);
	for (uint64_t i = 0; i < 100 * US_STRETCH + 5; i++) {
		struct us_stretch_sample x = { .t_ns = i };
		if (!us_stretches_skip(&s))
			assert_int_equal(us_stretches_add(&s, &x), 0);
	}
	assert_int_equal(s.n, all.n);
	assert_int_equal(s.seen, all.seen);
	for (size_t i = 0; i < s.n; i++)
		assert_int_equal(s.v[i].t_ns, all.v[i].t_ns);
	us_stretches_fini(&s);
	us_stretches_fini(&all);
}

static void all_of_a_short_one_are_kept(void **state)
{
	(void)state;
	struct us_stretches s;
	us_stretches_init(&s);
	add(&s, 3 * US_STRETCH + 7);
	assert_int_equal(s.n, 3 * US_STRETCH + 7);
	for (size_t i = 0; i < s.n; i++)
		assert_int_equal(s.v[i].t_ns, i);
	us_stretches_fini(&s);
}

static void a_long_one_is_kept_in_part(void **state)
{
	(void)state;
	struct us_stretches s;
	us_stretches_init(&s);
	add(&s, 1000 * US_STRETCH + 5);
	assert_int_equal(s.distance, 32);
	assert_int_equal(s.n, US_STRETCHES_MAX * US_STRETCH);
	for (size_t i = 0; i < s.n; i++)
		assert_int_equal(s.v[i].t_ns,
				 i / US_STRETCH * 32 * US_STRETCH + i % US_STRETCH);
	us_stretches_fini(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_a_short_one_are_kept),
		cmocka_unit_test(none_is_passed_over_that_is_kept),
		cmocka_unit_test(a_long_one_is_kept_in_part),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
