/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When events were: as far as the plugin writes the time, and a reader derives it. */
#include "unit.h"

#include "trace/timeline.h"

#include <time.h>

#define RECORDS	  (1U << 16)
#define DENSE_NS  30U
#define DENSE_INS 13U
#define START_NS  1000000000ULL

struct vcpu {
	struct us_events_head head;
	struct us_events_vcpu counts;
	struct us_events events;
	uint64_t insns;
	uint64_t record[RECORDS];
	uint64_t true_ns[RECORDS]; /* of each event */
	size_t n;
};

struct seen {
	const struct vcpu *v;
	size_t n;
	uint64_t error_ns[RECORDS];
};

static uint64_t clock_ns;

int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	(void)id;
	*t = (struct timespec){ .tv_sec = (time_t)(clock_ns / 1000000000),
				.tv_nsec = (long)(clock_ns % 1000000000) };
	return 0;
}

static void start(struct vcpu *v)
{
	*v = (struct vcpu){ .head = { .start_ns = START_NS, .has_time = 1 } };
	v->events = (struct us_events){ .head = &v->head,
					.vcpu = &v->counts,
					.record = v->record,
					.mask = RECORDS - 1 };
	clock_ns = START_NS;
}

static void pass(struct vcpu *v, uint64_t ns, uint64_t insns)
{
	clock_ns += ns;
	v->insns += insns;
}

static void put(struct vcpu *v)
{
	v->true_ns[v->n++] = clock_ns - START_NS;
	us_events_put(&v->events, US_EVENT_ENTER, 1, v->insns);
}

static void put_dense(struct vcpu *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		pass(v, DENSE_NS, DENSE_INS);
		put(v);
	}
}

static int compare(void *ctx, const struct us_timeline_event *e)
{
	struct seen *s = ctx;
	uint64_t is = s->v->true_ns[s->n];
	s->error_ns[s->n++] = e->t_ns > is ? e->t_ns - is : is - e->t_ns;
	return 0;
}

static void read_all(const struct vcpu *v, struct seen *s)
{
	struct us_timeline *t;
	*s = (struct seen){ .v = v };
	assert_int_equal(us_timeline_new(0, compare, s, &t), 0);
	assert_true(v->events.n <= RECORDS);
	assert_int_equal(us_timeline_add(t, 0, v->record, v->events.n), 0);
	assert_int_equal(us_timeline_until(t, UINT64_MAX), 0);
	assert_int_equal(s->n, v->n);
	us_timeline_free(t);
}

/* In pieces, and only what is sure by then. */
static void read_settled(const struct vcpu *v, struct seen *s)
{
	struct us_timeline *t;
	*s = (struct seen){ .v = v };
	assert_int_equal(us_timeline_new(0, compare, s, &t), 0);
	for (size_t i = 0; i < v->events.n; i += 7) {
		size_t n = v->events.n - i < 7 ? v->events.n - i : 7;
		assert_int_equal(us_timeline_add(t, 0, v->record + i, n), 0);
		assert_int_equal(us_timeline_settled(t, 0), 0);
	}
	assert_in_range(s->n, v->n - US_EVENTS_PER_TIME, v->n);
	assert_int_equal(us_timeline_until(t, UINT64_MAX), 0);
	assert_int_equal(s->n, v->n);
	us_timeline_free(t);
}

static uint64_t most(const struct seen *s, size_t from, size_t until)
{
	uint64_t n = 0;
	for (size_t i = from; i < until; i++)
		n = s->error_ns[i] > n ? s->error_ns[i] : n;
	return n;
}

static size_t n_times(const struct vcpu *v)
{
	size_t n = 0;
	for (size_t i = 0; i < v->events.n; i++)
		n += v->record[i] >> US_EVENT_KIND_SHIFT == US_EVENT_TIME;
	return n;
}

static struct vcpu v;
static struct seen seen;

/* A call of few instructions that wait for a device, and nothing else for long. */
static void rare_events_have_their_time(void **state)
{
	(void)state;
	start(&v);
	for (unsigned i = 0; i < 200; i++) {
		pass(&v, 20000000, 10000000);
		put(&v);
		pass(&v, 50000, 200);
		put(&v);
	}
	read_all(&v, &seen);
	assert_int_equal(most(&seen, 0, seen.n), 0);
}

/* No more than they had before rare ones had theirs. */
static void dense_events_have_few(void **state)
{
	(void)state;
	start(&v);
	put_dense(&v, 50000);
	assert_true(n_times(&v) < 50000 / US_EVENTS_PER_TIME + 2 * US_EVENTS_PER_TIME);
	read_all(&v, &seen);
	assert_true(most(&seen, 0, seen.n) < US_EVENTS_SPAN_NS / 10);
}

/* Neither the last before, nor the first after. */
static void a_halt_moves_no_event(void **state)
{
	(void)state;
	start(&v);
	for (unsigned i = 0; i < 50; i++) {
		put_dense(&v, 1000);
		us_events_halt(&v.events);
		pass(&v, 10000000, 5);
		put(&v);
	}
	read_all(&v, &seen);
	assert_true(most(&seen, 0, seen.n) < US_EVENTS_SPAN_NS);
}

static void untraced_code_moves_no_event(void **state)
{
	(void)state;
	start(&v);
	for (unsigned i = 0; i < 50; i++) {
		put_dense(&v, 1000);
		pass(&v, 10000000, US_EVENTS_INSNS_PER_TIME);
		put(&v);
	}
	read_all(&v, &seen);
	assert_true(most(&seen, 0, seen.n) < US_EVENTS_SPAN_NS);
}

/* That a device takes long is seen only afterwards, but not again and again. */
static void stalls_are_learned(void **state)
{
	(void)state;
	start(&v);
	for (unsigned i = 0; i < 100; i++) {
		put_dense(&v, 100);
		pass(&v, 50000, 5);
		put(&v);
	}
	read_all(&v, &seen);
	assert_int_equal(most(&seen, seen.n / 2, seen.n), 0);
}

/* Each a microsecond after the other: some have their time, so that all are right. */
static void between_the_two_some_have_it(void **state)
{
	(void)state;
	start(&v);
	for (unsigned i = 0; i < 10000; i++) {
		pass(&v, 1000, 400);
		put(&v);
	}
	assert_in_range(n_times(&v), 10000 / 8, 10000 / 2);
	read_all(&v, &seen);
	assert_true(most(&seen, 0, seen.n) < 100);
}

/* No time changes because of when it is asked for. */
static void settled_times_stay(void **state)
{
	static struct seen whole;
	(void)state;
	start(&v);
	put_dense(&v, 1000);
	pass(&v, 5000000, 100);
	put_dense(&v, 1000);
	read_all(&v, &whole);
	read_settled(&v, &seen);
	assert_memory_equal(whole.error_ns, seen.error_ns,
			    v.n * sizeof(seen.error_ns[0]));
}

static void instructions_alone_need_none(void **state)
{
	(void)state;
	start(&v);
	v.head.has_time = 0;
	put_dense(&v, 1000);
	pass(&v, 10000000, 10000000);
	put(&v);
	assert_int_equal(v.events.n, 1001);
}

/* The host took the CPU a few times.  Then come bursts of the functions that are
 * traced, between others: they are not each given their time for ever. */
static void bursts_forget_stalls(void **state)
{
	(void)state;
	start(&v);
	for (unsigned i = 0; i < 6; i++) {
		put_dense(&v, 1500);
		pass(&v, 3000000, 20);
		put(&v);
	}
	size_t n = v.n, times = n_times(&v);
	for (unsigned i = 0; i < 60; i++) {
		pass(&v, 15000, 8000);
		put_dense(&v, 800);
	}
	assert_true(n_times(&v) - times < (v.n - n) / 4);
	read_all(&v, &seen);
	assert_true(most(&seen, n, seen.n) < US_EVENTS_SPAN_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rare_events_have_their_time),
		cmocka_unit_test(dense_events_have_few),
		cmocka_unit_test(a_halt_moves_no_event),
		cmocka_unit_test(untraced_code_moves_no_event),
		cmocka_unit_test(stalls_are_learned),
		cmocka_unit_test(bursts_forget_stalls),
		cmocka_unit_test(between_the_two_some_have_it),
		cmocka_unit_test(settled_times_stay),
		cmocka_unit_test(instructions_alone_need_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
