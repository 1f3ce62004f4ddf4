/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording that fell short of its rate says why, and what a user can do. */
#include "cmd/record/summary.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

/* What is printed of one second of one vCPU at 1000 Hz; the caller's to free. */
static char *printed(uint64_t running, uint64_t late, uint64_t backed_off)
{
	const struct us_summary s = {
		.hz = 1000,
		.budget_ppm = 20000,
		.n_vcpu = 1,
		.end = US_RECORD_DONE,
		.stats = { .elapsed_ns = 1000000000,
			   .vcpu_ns = 1000000000,
			   .due = running + late + backed_off,
			   .running = running,
			   .late = late,
			   .backed_off = backed_off },
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	us_summary_print(&s, out);
	fclose(out);
	return text;
}

static void says_nothing_where_the_rate_was_reached(void **state)
{
	(void)state;
	char *text = printed(950, 50, 0);
	assert_null(strstr(text, "rate:"));
	free(text);
}

static void late_samples(void **state)
{
	(void)state;
	char *text = printed(250, 700, 50);
	assert_non_null(strstr(text,
			       "rate: 250.0 Hz a vCPU, not the 1000 asked for: 70 % "
			       "came due while the sample before was being taken, "
			       "or while uniscope had no CPU, or were left out to "
			       "keep busy and idle time comparable; try a lower -F"));
	assert_null(strstr(text, "--budget"));
	free(text);
}

/* A lower -F alone would not help, and neither would a larger budget. */
static void both_reasons(void **state)
{
	(void)state;
	char *text = printed(250, 400, 350);
	assert_non_null(strstr(text, ": 40 % came due while"));
	assert_non_null(strstr(text, "; 35 % would have taken over"));
	free(text);
	text = printed(250, 350, 400);
	assert_non_null(strstr(text, ": 35 % came due while"));
	assert_non_null(strstr(text, "; 40 % would have taken over"));
	free(text);
	text = printed(250, 10, 740);
	assert_null(strstr(text, "came due"));
	assert_non_null(strstr(text, "while the guest runs, more would take over"));
	free(text);
}

static void a_guest_that_stood(void **state)
{
	(void)state;
	const struct us_summary s = { .hz = 100,
				      .n_vcpu = 1,
				      .end = US_RECORD_DONE,
				      .stats = { .elapsed_ns = 2000000000,
						 .vcpu_ns = 2000000000,
						 .due = 200,
						 .running = 50,
						 .off = 150 } };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	us_summary_print(&s, out);
	fclose(out);
	assert_non_null(strstr(text, "off: 75.0 % of the samples found the guest "
				     "paused, or the vCPU off\n"));
	free(text);
	text = printed(250, 700, 50);
	assert_null(strstr(text, "off:"));
	free(text);
}

static bool tells_a_rate(double hz, double seconds, struct us_record_stats stats,
			 const char *words)
{
	struct us_summary s = { .hz = hz, .n_vcpu = 2, .end = US_RECORD_DONE };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	s.stats = stats;
	s.stats.elapsed_ns = (uint64_t)(seconds * 1e9);
	s.stats.vcpu_ns = 2 * s.stats.elapsed_ns;
	us_summary_print(&s, out);
	fclose(out);
	bool has = strstr(text, words) != NULL;
	print_message("# %s", text);
	free(text);
	return has;
}

/* One of three samples that is missing is no shortfall, and 0.5 Hz is not 0. */
static void low_rates(void **state)
{
	(void)state;
	struct us_record_stats few = { .due = 5, .running = 4, .late = 1 };
	struct us_record_stats many = { .due = 100, .running = 23, .late = 77 };
	struct us_record_stats chance = { .due = 43, .running = 43 };
	assert_false(tells_a_rate(0.5, 5, few, "rate:"));
	assert_false(tells_a_rate(0.5, 50, chance, "rate:"));
	assert_true(tells_a_rate(0.5, 100, many,
				 "rate: 0.12 Hz a vCPU, not the 0.5 asked for"));
}

static void no_rate_of_a_guest_that_stood(void **state)
{
	(void)state;
	struct us_record_stats all = { .due = 200, .off = 100, .late = 100 };
	struct us_record_stats half = {
		.due = 200, .running = 50, .off = 50, .late = 100
	};
	assert_false(tells_a_rate(100, 1, all, "rate:"));
	assert_true(tells_a_rate(100, 1, all, "off: 100.0 %"));
	assert_true(tells_a_rate(100, 1, half, "rate: 50.0 Hz a vCPU, not the 100"));
}

static char *printed_tasks(const struct us_wait_stats *waits, const char *none)
{
	const struct us_summary s = { .hz = 1000,
				      .end = US_RECORD_DONE,
				      .tasks_hz = 4,
				      .waits = *waits,
				      .no_tasks = none,
				      .stats = { .elapsed_ns = 2000000000 } };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	us_summary_print(&s, out);
	fclose(out);
	return text;
}

static void tasks_that_waited(void **state)
{
	(void)state;
	const struct us_wait_stats waits = { .looks = 8,
					     .due = 100,
					     .taken = 90,
					     .moved = 7,
					     .failed = 2,
					     .lost = 1,
					     .truncated = 3,
					     .cost_ns = 10000000,
					     .cost_max_ns = 2500000 };
	char *text = printed_tasks(&waits, NULL);
	assert_non_null(
		strstr(text, "tasks: 8 looks, 4.0 a second of 4, at 100 that waited: "
			     "90 taken, 7 ran meanwhile, 2 not read, 1 lost, 3 "
			     "truncated; 0.50 % of a host CPU, 2.5 ms the longest\n"));
	free(text);
	text = printed_tasks(&(struct us_wait_stats){ 0 }, "it is no Linux");
	assert_non_null(strstr(text, "tasks: none was looked at: it is no Linux\n"));
	free(text);
	text = printed(950, 50, 0);
	assert_null(strstr(text, "tasks:"));
	free(text);
}

static void limits_that_were_reached(void **state)
{
	(void)state;
	struct us_summary s = { .hz = 1000, .end = US_RECORD_DONE };
	char *text = printed(950, 50, 0);
	assert_null(strstr(text, "limit:"));
	free(text);
	us_limit_reached(&s.limits, US_LIMIT_RULES, 64 << 20);
	us_limit_reached(&s.limits, US_LIMIT_TASKS, 100000);
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	us_summary_print(&s, out);
	us_summary_json(&s, out);
	fclose(out);
	assert_non_null(strstr(text, "limit: the guest had more than 100,000 tasks "));
	assert_non_null(strstr(text, "limit: more than 64 MiB of rules "));
	assert_non_null(strstr(text, "\"limit\": \"limit_rules\""));
	free(text);
}

static void the_budget(void **state)
{
	(void)state;
	char *text = printed(250, 50, 700);
	assert_non_null(strstr(text, "more would take over 2.0 % of its time "
				     "(--budget PERCENT allows it)"));
	assert_null(strstr(text, "came due"));
	free(text);
}

/* An idle guest's ticks do not come due: nothing to explain but the rate. */
static void no_reason_is_invented(void **state)
{
	(void)state;
	char *text = printed(250, 0, 0);
	assert_non_null(
		strstr(text, "rate: 250.0 Hz a vCPU, not the 1000 asked for\n"));
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_nothing_where_the_rate_was_reached),
		cmocka_unit_test(late_samples),
		cmocka_unit_test(both_reasons),
		cmocka_unit_test(a_guest_that_stood),
		cmocka_unit_test(low_rates),
		cmocka_unit_test(no_rate_of_a_guest_that_stood),
		cmocka_unit_test(tasks_that_waited),
		cmocka_unit_test(limits_that_were_reached),
		cmocka_unit_test(the_budget),
		cmocka_unit_test(no_reason_is_invented),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
