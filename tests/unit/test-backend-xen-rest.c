/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the sampler of a Xen domain goes on: times that are made up. */
#include "unit.h"

#include "backend/xen/rest.h"

#define US 1000ull

struct run {
	struct us_xen_rest rest;
	uint64_t now, worked, waited, n;
};

/* A sample every interval, if it can be; each wait ends late by lag. */
static void sample(struct run *r, uint64_t work, uint64_t interval, uint64_t lag)
{
	uint64_t due = r->now + interval;
	r->now += work;
	r->worked += work;
	us_xen_rest_worked(&r->rest, work);
	uint64_t until = us_xen_rest_until(&r->rest, r->now, due);
	r->n++;
	if (until <= r->now || us_xen_rest_can_wait(&r->rest, r->now, until)) {
		us_xen_rest_goes_on(&r->rest, r->now, due);
		return;
	}
	uint64_t from = r->now;
	r->now = until + lag;
	r->waited += r->now - from;
	us_xen_rest_waited(&r->rest, from, until, r->now, true);
}

static void one_cpu_rests_as_long_as_it_works(void **state)
{
	(void)state;
	static const uint64_t lags[] = { 0, 5 * US, 250 * US, 5000 * US };
	for (unsigned i = 0; i < 8; i++) {
		struct run r = { .now = 1 };
		us_xen_rest_init(&r.rest, true);
		r.rest.apart = i / 4;
		for (unsigned k = 0; k < 1000; k++)
			sample(&r, 100 * US, 1, lags[i % 4]);
		assert_true(r.waited + US_XEN_REST_MOST_NS >= r.worked);
	}
}

/* It shares our CPU: each sample has its rest, whatever was too long before. */
static void a_shared_cpu_has_a_wait_after_each(void **state)
{
	(void)state;
	struct run r = { .now = 1 };
	us_xen_rest_init(&r.rest, true);
	for (unsigned k = 0; k < 1000; k++) {
		uint64_t before = r.waited;
		sample(&r, 100 * US, 1, 3000 * US);
		assert_true(r.waited - before >= 100 * US);
	}
}

/* Waits that end late by more than a sample takes: one for many samples. */
static void short_waits_are_saved_up(void **state)
{
	(void)state;
	struct run r = { .now = 1 };
	us_xen_rest_init(&r.rest, true);
	r.rest.apart = true;
	for (unsigned k = 0; k < 3000; k++)
		sample(&r, 100 * US, 100 * US, 250 * US);
	/* 200 us for each, not 100 of work and 350 of a wait. */
	assert_in_range(r.now / r.n, 195 * US, 215 * US);
}

/* Never more samples than were asked for, in the mean. */
static void the_rate_is_the_one_asked_for(void **state)
{
	(void)state;
	static const uint64_t lags[] = { 0, 20 * US, 250 * US, 900 * US };
	for (unsigned i = 0; i < 4; i++)
		for (uint64_t interval = 200 * US; interval < 20000 * US;
		     interval *= 3) {
			struct run r = { .now = 1 };
			us_xen_rest_init(&r.rest, false);
			r.rest.apart = true;
			for (unsigned k = 0; k < 2000; k++)
				sample(&r, 50 * US, interval, lags[i]);
			assert_true(r.now / r.n + US >= interval);
			assert_true(r.now / r.n <= interval + lags[i] + 10 * US);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_cpu_rests_as_long_as_it_works),
		cmocka_unit_test(a_shared_cpu_has_a_wait_after_each),
		cmocka_unit_test(short_waits_are_saved_up),
		cmocka_unit_test(the_rate_is_the_one_asked_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
