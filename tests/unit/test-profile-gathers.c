/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where stops do not fall where the time goes, the report says so; and nothing of what
 * is no such list. */
#include "unit.h"

#include "report/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct us_namer namer; /* of the recorder, for 0x5010, too */

/* The warning with these words that a recording with this fact gets, or NULL; to be
 * freed. */
static char *warning_with(const char *key, const char *fact, const char *words)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	const us_gva pc = 0x1000;
	const uint8_t flags = 0;
	const struct us_sample sample = {
		.t_ns = 1, .state = US_VCPU_GUEST, .end = US_END_ROOT, .weight = 1
	};
	const struct us_record_stats stats = { .elapsed_ns = 1, .vcpu_ns = 1 };
	const struct us_profile_opts opts = { 0 };
	struct us_profile *p = NULL;
	struct us_writer *w;
	struct us_err e = { 0 };
	char *found = NULL;
	assert_true(fd >= 0);
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	assert_int_equal(us_writer_fact(w, key, fact, &e), 0);
	assert_int_equal(us_writer_sample(w, &sample, &pc, &flags, 1, &e), 0);
	assert_int_equal(us_writer_flush(w, &e), 0);
	if (namer.name)
		us_writer_name_by(w, &namer);
	us_writer_name_also(w, 0x5010);
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "", &e), 0);
	us_writer_close(w);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	if (us_profile_read(fd, &opts, &p, &e))
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		if (strstr(us_profile_warning(p, i), words))
			found = strdup(us_profile_warning(p, i));
	us_profile_free(p);
	close(fd);
	return found;
}

static char *warning_of(const char *fact)
{
	return warning_with("stops_gather", fact, "stops do not fall");
}

static void names_the_worst_places(void **state)
{
	(void)state;
	char *w = warning_of("1000; ffffffff80101119 993 31; 5000 2 900; 6000 60 40");
	assert_non_null(w);
	assert_non_null(strstr(w, "by 1000 readings"));
	assert_non_null(
		strstr(w, "0xffffffff80101119 has 99.3 % of the stops and 3.1 %"));
	assert_non_null(
		strstr(w, "0x5000 has 0.2 % of the stops and 90.0 % of the time"));
	assert_null(strstr(w, "0x6000")); /* two points */
	free(w);
}

static bool name_it(void *ctx, us_gva pc, struct us_named *ret)
{
	bool *told = ctx;
	*ret = (struct us_named){ 0x5000, 0x100, "wait_for_it", "linux" };
	return pc - 0x5000 < 0x100 && !*told && (*told = true);
}

/* The function that the samples miss has a name as well. */
static void names_what_no_sample_hit(void **state)
{
	(void)state;
	bool told = false;
	namer = (struct us_namer){ name_it, &told };
	char *w = warning_of("1000; 5010 2 900");
	namer = (struct us_namer){ 0 };
	assert_non_null(w);
	assert_non_null(strstr(w, ": wait_for_it has 0.2 % of the stops and 90.0 %"));
	free(w);
}

static void says_nothing_of_chance(void **state)
{
	(void)state;
	assert_null(warning_of("200; 5000 60 44; 6000 44 60")); /* 8 points, 2 sigma */
	assert_null(warning_of("1000; 5000 400 400"));
}

static void survives_what_is_no_list(void **state)
{
	static const char *const texts[] = {
		"0; 5000 0 0",
		"10",
		"; ; ;",
		"-1; -1 -1 -1",
		"99999999999999999999999; 1 2 3",
		"10; 5000 900 1",
		"10; zz yy xx; 5000",
		"nothing",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		free(warning_of(texts[i]));
	assert_null(warning_of("10; 5000 900 1"));
	char many[8192] = "1000";
	for (unsigned i = 0; strlen(many) + 32 < sizeof(many); i++)
		snprintf(many + strlen(many), 32, "; %x 900 1", 0x1000 + i);
	free(warning_of(many));
}

/* What record reached is told again where its recording is read. */
static void limits_are_told(void **state)
{
	(void)state;
	char *w = warning_with("limit_places", "7 4096", "more than 4,096 places");
	assert_non_null(w);
	free(w);
	w = warning_with("limit_tasks", "1 100000", "more than 100,000 tasks");
	assert_non_null(w);
	free(w);
	assert_null(warning_with("limit_tasks", "0 100000", "tasks"));
	assert_null(warning_with("limit_tasks", "many", "tasks"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_told),
		cmocka_unit_test(names_the_worst_places),
		cmocka_unit_test(names_what_no_sample_hit),
		cmocka_unit_test(says_nothing_of_chance),
		cmocka_unit_test(survives_what_is_no_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
