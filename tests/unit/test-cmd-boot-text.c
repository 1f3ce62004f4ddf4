/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a boot's table says of the points that are not in it. */
#include "cmd/boot/exits.h"
#include "cmd/boot/text.h"

#include "unit.h"

#include <string.h>
#include <unistd.h>

#define MS 1000000

/* ---- What these boots do not have ---- */

void us_boot_print_exits(const struct us_boot_run *run, size_t n, bool detailed)
{
	(void)run;
	(void)n;
	(void)detailed;
}

void us_boot_json_exits(struct us_json *j, const struct us_boot_run *run, size_t n,
			bool detailed)
{
	(void)j;
	us_boot_print_exits(run, n, detailed);
}

void us_boot_profile_json(struct us_json *j, const struct us_boot_profile *p)
{
	(void)j;
	(void)p;
}

/* ---- The test ---- */

static void print(const struct us_boot_report *r, char *text, size_t size)
{
	FILE *to = tmpfile();
	int saved = dup(STDOUT_FILENO);
	assert_non_null(to);
	fflush(stdout);
	dup2(fileno(to), STDOUT_FILENO);
	us_boot_print(r);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	rewind(to);
	text[fread(text, 1, size - 1, to)] = '\0';
	fclose(to);
}

/* The stub that holds a guest for its sampler shows points that samples do not. */
static void what_was_seen_is_not_called_unseen(void **state)
{
	static const struct us_boot_plan plan = {
		.point = { { .kind = US_BOOT_LAUNCH, .name = "launch" },
			   { .kind = US_BOOT_START, .name = "first instruction" },
			   { .kind = US_BOOT_IDLE, .name = "first idle" } },
		.n = 3,
	};
	static struct us_boot_run run;
	struct us_boot_report r = { .plan = &plan,
				    .run = &run,
				    .n = 1,
				    .vmm = "qemu",
				    .way = US_BOOT_BY_SAMPLES,
				    .unseen = "",
				    .unseen_kvm = "no permission",
				    .unseen_code = "",
				    .unseen_device = "",
				    .first = "" };
	char text[4096];
	(void)state;
	run.at[0].seen = true;
	run.at[1] = (struct us_boot_moment){ .wall_ns = 9 * MS,
					     .way = US_BOOT_BY_BREAKPOINTS,
					     .seen = true };
	assert_int_equal(us_boot_summarize(&plan, &run, 1, &r.summary), 0);
	print(&r, text, sizeof(text));
	assert_non_null(strstr(text, "cannot be seen here: first idle: no permission"));
	assert_non_null(strstr(text, "first instruction"));
	assert_null(strstr(text, "seen here: first instruction"));
	assert_null(strstr(text, "reset"));
	/* A point may be one of a later boot. */
	run.n_start = 5;
	print(&r, text, sizeof(text));
	assert_non_null(strstr(text, "the guest started 5 times: it was reset"));
}

/* A short function may have been called and have returned between two samples. */
static void an_earlier_call_may_have_been_missed(void **state)
{
	static const struct us_boot_plan plan = {
		.point = { { .kind = US_BOOT_LAUNCH, .name = "launch" },
			   { .kind = US_BOOT_ENTRY, .name = "kernel entry" },
			   { .kind = US_BOOT_SYMBOL, .name = "kmain" } },
		.n = 3,
	};
	static struct us_boot_run run;
	struct us_boot_report r = { .plan = &plan,
				    .run = &run,
				    .n = 1,
				    .vmm = "qemu",
				    .way = US_BOOT_BY_SAMPLES,
				    .unseen = "",
				    .unseen_kvm = "",
				    .unseen_code = "",
				    .unseen_device = "",
				    .first = "" };
	char text[4096];
	(void)state;
	run.at[0].seen = true;
	for (size_t i = 1; i < plan.n; i++)
		run.at[i] = (struct us_boot_moment){ .wall_ns = 100 * MS,
						     .error_ns = 90 * MS,
						     .first_error_ns = MS / 5,
						     .way = US_BOOT_BY_SAMPLES,
						     .seen = true };
	run.at[1].error_ns = MS / 5;
	assert_int_equal(us_boot_summarize(&plan, &run, 1, &r.summary), 0);
	print(&r, text, sizeof(text));
	assert_non_null(strstr(text, "samples, up to 0.2 before\n"));
	assert_non_null(strstr(text, "samples, up to 90.0 before; 0.2 if that is the "
				     "first call\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_seen_is_not_called_unseen),
		cmocka_unit_test(an_earlier_call_may_have_been_missed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
