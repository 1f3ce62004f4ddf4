/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tasks wait for, of a recording that grows: what report --waits would show. */
#include "growing.h"

#include "base/clock.h"
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS     US_NS_PER_MS
#define PERIOD (250 * MS)
#define LOOKS  40
#define SLEEP  0xffffffff81001000ULL
#define READ   0xffffffff81002000ULL
#define ENTRY  0xffffffff81003000ULL

static void start(struct growing *g, const struct us_live_opts *o)
{
	start_with(g, o, "tasks_hz", "4");
}

static void add_wait(struct growing *g, unsigned look, uint32_t waiter, us_gva in,
		     uint8_t state)
{
	const us_gva pc[] = { SLEEP - 64, in + 8, ENTRY + 16 };
	const struct us_wait s = { .t_ns = look * PERIOD,
				   .waiter = waiter,
				   .end = US_END_ROOT,
				   .state = state,
				   .inside = 1 };
	assert_int_equal(us_writer_wait(g->w, &s, pc, NULL, 3, NULL), 0);
}

/* One waits all the time in the same place; the other comes at the tenth look. */
static void look_at(struct growing *g, unsigned look)
{
	static const struct us_waiter who[] = {
		{ 1, 40, 40, false, "server", "server" },
		{ 2, 41, 40, false, "wor\033ker", "server" },
	};
	const struct us_wait_stats sums = { .looks = look + 1,
					    .tasks = 2 * look + 2,
					    .due = 2 * look + 2,
					    .taken = 2 * look + 2 };
	const us_gva pc = ENTRY + 64;
	const struct us_sample s = { .t_ns = look * PERIOD,
				     .weight = 1,
				     .end = US_END_ROOT,
				     .state = US_VCPU_GUEST };
	const struct us_record_stats stats = { .elapsed_ns = look * PERIOD };
	if (look == 0 || look == 10)
		assert_int_equal(us_writer_waiter(g->w, &who[look == 10], NULL), 0);
	add_wait(g, look, 1, READ, US_WAIT_SLEEPS);
	if (look >= 10)
		add_wait(g, look, 2, SLEEP, look % 2 ? US_WAIT_READY : US_WAIT_BLOCKED);
	assert_int_equal(us_writer_sample(g->w, &s, &pc, NULL, 1, NULL), 0);
	assert_int_equal(us_writer_wait_stats(g->w, &sums, NULL), 0);
	assert_int_equal(us_writer_stats(g->w, &stats, NULL), 0);
}

static struct us_profile *profile(struct growing *g, const struct us_live_view *v)
{
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	if (us_live_profile(g->l, v, &p, &e))
		fail_msg("%s", e.msg);
	return p;
}

/* As text, without how the file ended. */
static char *text_of(struct us_profile *p)
{
	const struct us_report_opts o = { .sort = US_SORT_SELF };
	struct us_err e;
	char *text = NULL, *line;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(us_report(p, us_format_by_name("text"), &o, out, &e), 0);
	fclose(out);
	line = strstr(text, "# warning: the recording has no end");
	if (line) {
		char *next = strchr(line, '\n') + 1;
		if (!strncmp(next, "#   ", 4))
			next = strchr(next, '\n') + 1;
		memmove(line, next, strlen(next) + 1);
	}
	us_profile_free(p);
	return text;
}

/* The same as of the file, read from its start. */
static void compare(struct growing *g, const struct us_live_view *v,
		    const struct us_profile_opts *o)
{
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	off_t end = lseek(g->fd, 0, SEEK_CUR);
	assert_int_equal(lseek(g->fd, 0, SEEK_SET), 0);
	assert_int_equal(us_profile_read(g->fd, o, &p, &e), 0);
	assert_int_equal(lseek(g->fd, end, SEEK_SET), end);
	char *live = text_of(profile(g, v)), *file = text_of(p);
	assert_string_equal(live, file);
	free(live);
	free(file);
}

static void as_report(struct growing *g)
{
	uint64_t now = us_live_now_ns(g->l),
		 from = now > 3000 * MS ? now - 3000 * MS : 0;
	compare(g, &(struct us_live_view){ .waits = true },
		&(struct us_profile_opts){ .waits = true });
	compare(g, &(struct us_live_view){ .waits = true, .last_ns = 3000 * MS },
		&(struct us_profile_opts){ .waits = true, .from_ns = from });
	compare(g,
		&(struct us_live_view){
			.waits = true, .from_ns = 250 * MS, .to_ns = 2600 * MS },
		&(struct us_profile_opts){
			.waits = true, .from_ns = 250 * MS, .to_ns = 2600 * MS });
}

static void test_as_report(void **state)
{
	(void)state;
	struct growing g;
	start(&g, NULL);
	for (unsigned i = 0; i < LOOKS; i++) {
		look_at(&g, i);
		follow(&g);
		if (i % 10 == 9)
			as_report(&g);
	}
	stop(&g);
}

/* What is not in memory any more is read from the file again. */
static void test_longer_than_memory(void **state)
{
	(void)state;
	struct growing g;
	start(&g, &(struct us_live_opts){ .keep_ns = 1000 * MS });
	for (unsigned i = 0; i < 4 * LOOKS; i++)
		look_at(&g, i);
	follow(&g);
	as_report(&g);
	stop(&g);
}

/* Beside each other: what runs is the same as without the waits. */
static void test_apart(void **state)
{
	(void)state;
	struct growing g;
	start(&g, NULL);
	assert_false(us_live_waits_known(g.l));
	for (unsigned i = 0; i < LOOKS; i++)
		look_at(&g, i);
	follow(&g);
	assert_true(us_live_waits_known(g.l));
	assert_int_equal(us_live_wait_stats(g.l)->looks, LOOKS);
	struct us_profile *p = profile(&g, &(struct us_live_view){ 0 });
	assert_int_equal(us_profile_summary(p)->running, LOOKS);
	assert_false(us_profile_waits(p)->shown);
	us_profile_free(p);
	p = profile(&g, &(struct us_live_view){ .waits = true });
	assert_int_equal(us_profile_summary(p)->running, 2 * LOOKS - 10);
	assert_int_equal(us_profile_waits(p)->state[US_WAIT_SLEEPS], LOOKS);
	assert_int_equal(us_profile_waits(p)->state[US_WAIT_BLOCKED], (LOOKS - 10) / 2);
	assert_int_equal(us_profile_n_warning(p), 0);
	us_profile_free(p);
	stop(&g);
}

static bool warns(struct growing *g, const char *what)
{
	struct us_profile *p = profile(g, &(struct us_live_view){ .waits = true });
	assert_int_equal(us_profile_summary(p)->running, 0);
	bool found = false;
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		found |= !!strstr(us_profile_warning(p, i), what);
	us_profile_free(p);
	return found;
}

/* Before the first look, and where a look finds that none waits. */
static void test_none(void **state)
{
	(void)state;
	const struct us_wait_stats sums = { .looks = 3 };
	struct growing g;
	start(&g, NULL);
	follow(&g);
	assert_true(warns(&g, "no task was looked at yet"));
	assert_int_equal(us_writer_wait_stats(g.w, &sums, NULL), 0);
	follow(&g);
	assert_false(warns(&g, "task"));
	assert_int_equal(us_writer_fact(g.w, "tasks_note", "no Linux", NULL), 0);
	follow(&g);
	assert_true(warns(&g, "no task was looked at: no Linux"));
	stop(&g);
}

/* A time without any, of which more are in the file: none is made up. */
static void test_no_wait_in_view(void **state)
{
	(void)state;
	struct growing g;
	start(&g, NULL);
	look_at(&g, 0);
	follow(&g);
	struct us_profile *p = profile(
		&g, &(struct us_live_view){
			    .waits = true, .from_ns = 1000 * MS, .to_ns = 2000 * MS });
	assert_int_equal(us_profile_summary(p)->running, 0);
	us_profile_free(p);
	stop(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_report),
		cmocka_unit_test(test_longer_than_memory),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_no_wait_in_view),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
