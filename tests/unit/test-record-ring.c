/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test-record-ring.c: the ring between sampler and writer. */
#include "unit.h"

#include "record/ring.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* Everything about sample number i follows from i. */
static size_t make(uint64_t i, struct us_sample *s, us_gva *pc)
{
	uint64_t random = i * 0x9e3779b97f4a7c15ULL + 1;
	size_t n = next_random(&random) % (US_MAX_FRAMES + 1);
	*s = (struct us_sample){ .t_ns = i,
				 .stack = (uint32_t)next_random(&random),
				 .vcpu = (uint16_t)next_random(&random),
				 .end = (uint8_t)n,
				 .state = (uint8_t)(n + 1),
				 .weight = (uint32_t)~i };
	for (size_t k = 0; k < n; k++)
		pc[k] = next_random(&random);
	return n;
}

static bool is_sample(const struct us_ring_item *it, uint64_t i)
{
	struct us_sample s;
	us_gva pc[US_MAX_FRAMES];
	size_t n = make(i, &s, pc);
	for (size_t k = 0; k < n && k < it->n; k++)
		if (it->flags[k] != (uint8_t)pc[k])
			return false;
	return it->n == n && it->sample->t_ns == s.t_ns &&
	       it->sample->stack == s.stack && it->sample->vcpu == s.vcpu &&
	       it->sample->end == s.end && it->sample->state == s.state &&
	       it->sample->weight == s.weight && !memcmp(it->pc, pc, n * sizeof(*pc));
}

static bool push(struct us_ring *r, uint64_t i)
{
	struct us_sample s;
	us_gva pc[US_MAX_FRAMES];
	uint8_t flags[US_MAX_FRAMES];
	size_t n = make(i, &s, pc);
	for (size_t k = 0; k < n; k++)
		flags[k] = (uint8_t)pc[k];
	return us_ring_push(r, &s, pc, flags, n);
}

static void sizes_are_rounded(void **state)
{
	(void)state;
	static const size_t asked[] = { 0, 1, 4096, 4097, 100000 };
	static const size_t got[] = { 4096, 4096, 4096, 8192, 131072 };
	for (unsigned i = 0; i < 5; i++) {
		struct us_ring *r = us_ring_new(asked[i]);
		assert_non_null(r);
		assert_int_equal(us_ring_size(r), got[i]);
		us_ring_free(r);
	}
	us_ring_free(NULL);
}

/* Filled to the brim and emptied, at every alignment, many times around. */
static void all_comes_out_in_order(void **state)
{
	(void)state;
	struct us_ring *r = us_ring_new(8192);
	struct us_ring_item it;
	uint64_t in = 0, out = 0, random = 5;
	assert_int_equal(us_ring_peek(r, &it), US_RING_EMPTY);
	for (unsigned round = 0; round < 3000; round++) {
		while (push(r, in))
			in++;
		assert_true(us_ring_used(r) > 8192 - 2 * (32 + 9 * US_MAX_FRAMES));
		uint64_t n = 1 + next_random(&random) % (in - out);
		while (n--) {
			assert_int_equal(us_ring_peek(r, &it), US_RING_SAMPLE);
			assert_true(is_sample(&it, out++));
			us_ring_pop(r);
		}
	}
	while (us_ring_peek(r, &it) == US_RING_SAMPLE) {
		assert_true(is_sample(&it, out++));
		us_ring_pop(r);
	}
	assert_int_equal(in, out);
	assert_int_equal(us_ring_used(r), 0);
	us_ring_free(r);
}

static void statistics_keep_their_place(void **state)
{
	(void)state;
	struct us_ring *r = us_ring_new(4096);
	struct us_ring_item it;
	struct us_record_stats s = { .due = 77, .held_max_ns = 5 };
	for (unsigned round = 0; round < 100; round++) {
		assert_true(push(r, round));
		assert_true(us_ring_push_stats(r, &s));
		assert_true(push(r, round + 1));
		assert_int_equal(us_ring_peek(r, &it), US_RING_SAMPLE);
		us_ring_pop(r);
		assert_int_equal(us_ring_peek(r, &it), US_RING_STATS);
		assert_memory_equal(it.stats, &s, sizeof(s));
		us_ring_pop(r);
		assert_int_equal(us_ring_peek(r, &it), US_RING_SAMPLE);
		assert_true(is_sample(&it, round + 1));
		us_ring_pop(r);
	}
	us_ring_free(r);
}

static void too_many_frames_are_refused(void **state)
{
	(void)state;
	struct us_ring *r = us_ring_new(1 << 20);
	us_gva pc[US_MAX_FRAMES + US_MAX_HOST_FRAMES + 1] = { 0 };
	struct us_sample s = { 0 };
	assert_false(
		us_ring_push(r, &s, pc, NULL, US_MAX_FRAMES + US_MAX_HOST_FRAMES + 1));
	assert_int_equal(us_ring_used(r), 0);
	us_ring_free(r);
}

#define N_CROSSING 100000

static void *produce(void *arg)
{
	for (uint64_t i = 0; i < N_CROSSING;) {
		if (push(arg, i))
			i++;
		else
			sched_yield();
	}
	return NULL;
}

static void two_threads(void **state)
{
	(void)state;
	struct us_ring *r = us_ring_new(16384);
	struct us_ring_item it;
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, produce, r), 0);
	for (uint64_t i = 0; i < N_CROSSING;) {
		if (us_ring_peek(r, &it) == US_RING_EMPTY) {
			sched_yield();
			continue;
		}
		assert_true(is_sample(&it, i++));
		us_ring_pop(r);
	}
	pthread_join(thread, NULL);
	assert_int_equal(us_ring_peek(r, &it), US_RING_EMPTY);
	us_ring_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_rounded),
		cmocka_unit_test(all_comes_out_in_order),
		cmocka_unit_test(statistics_keep_their_place),
		cmocka_unit_test(too_many_frames_are_refused),
		cmocka_unit_test(two_threads),
	};
	return cmocka_run_group_tests_name("record-ring", tests, NULL, NULL);
}
