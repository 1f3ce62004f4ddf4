/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of a part of a trace: time counts for the functions that had it, also where
 * some of the trace is not shown. */
#include "report/trace_format.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_INSN 10
#define MAX_NUMBERS 8

enum { THREAD, COPY, SUM };
static const char *const names[] = { "thread", "copy", "sum" };

struct page {
	struct us_trace_out trace;
	struct us_replay *replay;
	char *text;
	size_t size;
};

static void begin(struct page *x, const struct us_replay_opts *o)
{
	const struct us_trace_format *f = us_trace_format_by_name("html");
	*x = (struct page){ .trace = { .name = names, .n_name = 3, .opts = o } };
	x->trace.out = open_memstream(&x->text, &x->size);
	assert_non_null(x->trace.out);
	assert_int_equal(us_replay_new(NS_PER_INSN, &f->ops, &x->trace, o, &x->replay),
			 0);
	x->trace.replay = x->replay;
	assert_int_equal(f->begin(&x->trace), 0);
}

static void tell(struct page *x, unsigned vcpu, uint64_t insns, enum us_event_kind kind,
		 uint32_t number)
{
	uint64_t record = (uint64_t)kind << US_EVENT_KIND_SHIFT |
			  (uint64_t)number << US_EVENT_NUMBER_SHIFT | insns;
	struct us_timeline *t = us_replay_timeline(x->replay);
	assert_int_equal(us_timeline_add(t, vcpu, &record, 1), 0);
}

static void end(struct page *x)
{
	assert_int_equal(us_timeline_until(us_replay_timeline(x->replay), UINT64_MAX),
			 0);
	assert_int_equal(us_trace_format_by_name("html")->end(&x->trace), 0);
	us_replay_free(x->replay);
	fclose(x->trace.out);
}

/* The numbers that the page's data have under key. */
static size_t numbers(const char *at, const char *key, uint64_t ret[MAX_NUMBERS])
{
	size_t n = 0;
	char quoted[32];
	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(at, quoted);
	assert_non_null(at);
	at += strlen(quoted);
	at += strspn(at, " \n[");
	for (char *next; n < MAX_NUMBERS; at = next + strspn(next, ", \n")) {
		ret[n] = strtoull(at, &next, 10);
		if (next == at)
			break;
		n++;
	}
	return n;
}

static uint64_t self_of(const struct page *x, const char *name)
{
	uint64_t ns[MAX_NUMBERS];
	const char *func = strstr(x->text, "\"func\":");
	assert_non_null(func);
	size_t n = numbers(func, "self", ns), i = 0;
	const char *at = strstr(func, "\"name\":");
	const char *found = strstr(at, name);
	assert_non_null(found);
	for (; at < found; at++)
		i += *at == ',';
	assert_true(i < n);
	return ns[i];
}

/* A thread that calls copy and sum by turns, and never returns. */
static void trace_thread(struct page *x, const struct us_replay_opts *o)
{
	begin(x, o);
	tell(x, 0, 0, US_EVENT_STACK, 1);
	tell(x, 0, 0, US_EVENT_ENTER, THREAD);
	for (uint64_t i = 0; i < 200; i++) {
		uint32_t callee = i % 2 ? SUM : COPY;
		tell(x, 0, 100 * i + 10, US_EVENT_ENTER, callee);
		tell(x, 0, 100 * i + 100, US_EVENT_EXIT, callee);
		if (i % 50 == 49) { /* for a moment, another thread is on */
			tell(x, 0, 100 * i + 100, US_EVENT_STACK, 2);
			tell(x, 0, 100 * i + 101, US_EVENT_STACK, 1);
		}
	}
	end(x);
}

/* Calls from then on are not shown; their time is not their caller's. */
static void time_after_the_part_is_nobodys(void **state)
{
	const struct us_replay_opts all = { 0 }, part = { .to_ns = 45500 };
	struct page whole, first;
	uint64_t ns[MAX_NUMBERS], sum = 0;
	(void)state;
	trace_thread(&whole, &all);
	trace_thread(&first, &part);
	assert_int_equal(self_of(&whole, "thread"), 200 * 100 - 30);
	assert_int_equal(self_of(&first, "thread"), 46 * 100);
	assert_int_equal(self_of(&first, "copy"), 23 * 900);
	assert_int_equal(self_of(&first, "sum"), 22 * 900 + 400);
	for (size_t i = 0; i < 3; i++)
		sum += self_of(&first, names[i]);
	assert_int_equal(sum, part.to_ns);
	assert_int_equal(numbers(first.text, "ns", ns), 1);
	assert_int_equal(ns[0], part.to_ns);
	free(whole.text);
	free(first.text);
}

/* A thread that another vCPU took over, and which ends its calls there. */
static void vcpus_left_out_have_no_time(void **state)
{
	const struct us_replay_opts first = { .vcpu_mask = 1 };
	struct page x;
	(void)state;
	begin(&x, &first);
	tell(&x, 0, 0, US_EVENT_STACK, 1);
	tell(&x, 0, 0, US_EVENT_ENTER, THREAD);
	tell(&x, 0, 100, US_EVENT_ENTER, COPY);
	tell(&x, 0, 200, US_EVENT_ENTER, SUM);
	tell(&x, 0, 300, US_EVENT_STACK, 2);
	tell(&x, 1, 300, US_EVENT_STACK, 1);
	tell(&x, 1, 400, US_EVENT_EXIT, SUM);
	tell(&x, 1, 900, US_EVENT_EXIT, COPY);
	end(&x);
	assert_non_null(strstr(x.text, "\"vcpu\":0"));
	assert_null(strstr(x.text, "\"vcpu\":1"));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(self_of(&x, names[i]), 1000);
	free(x.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_after_the_part_is_nobodys),
		cmocka_unit_test(vcpus_left_out_have_no_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
