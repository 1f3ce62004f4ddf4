/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest whose kernel is replaced while it is recorded: names are of the one that ran.
 */
#include "unit.h"

#include "base/clock.h"
#include "profile/kernels.h"
#include "profile/profile.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PC 0xffffffff81000010

static bool name_it(void *ctx, us_gva pc, struct us_named *ret)
{
	*ret = (struct us_named){ PC - 0x10, 0x100, ctx, "linux" };
	return pc >= PC - 0x10;
}

static void write_at(struct us_writer *w, us_gva pc, unsigned from_ms,
		     unsigned until_ms)
{
	for (unsigned ms = from_ms; ms < until_ms; ms += 10) {
		struct us_sample s = { .t_ns = ms * US_NS_PER_MS,
				       .weight = 1,
				       .end = US_END_ROOT,
				       .state = US_VCPU_GUEST };
		assert_int_equal(us_writer_sample(w, &s, &pc, NULL, 1, NULL), 0);
	}
	assert_int_equal(us_writer_flush(w, NULL), 0);
}

static void write_samples(struct us_writer *w, unsigned from_ms, unsigned until_ms)
{
	write_at(w, PC, from_ms, until_ms);
}

/* "name weight, ..." of what was written. */
static void check(struct us_writer *w, int fd, const char *want)
{
	static const struct us_record_stats stats = { .elapsed_ns = 10 * US_NS_PER_SEC,
						      .vcpu_ns = 10 * US_NS_PER_SEC,
						      .due = 1000,
						      .running = 1000 };
	struct us_profile_opts o = { 0 };
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	char got[256] = "";
	size_t n;
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	if (us_profile_read(fd, &o, &p, &e))
		fail_msg("%s", e.msg);
	close(fd);
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t k = 0; k < n; k++) {
		size_t used = strlen(got);
		snprintf(got + used, sizeof(got) - used, "%s%s %u", used ? ", " : "",
			 f[k].known ? f[k].name : "?", (unsigned)f[k].self);
	}
	assert_string_equal(got, want);
	us_profile_free(p);
}

/* A recording of 10 s, in which that is said at 5 s. */
static void expect(const char *changed, const char *after, const char *want)
{
	static char before[] = "of_the_first";
	int fd = memfd_create("recording", MFD_CLOEXEC);
	struct us_writer *w;
	char name[32];
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	us_writer_name_by(w, &(struct us_namer){ name_it, before });
	write_samples(w, 0, 5000);
	if (changed)
		assert_int_equal(us_writer_fact(w, "linux_changed", changed, NULL), 0);
	if (after) {
		snprintf(name, sizeof(name), "%s", after);
		us_writer_name_by(w, &(struct us_namer){ name_it, name });
	}
	write_samples(w, 5000, 10000);
	check(w, fd, want);
}

/* A kernel of four functions, which begin so far behind its base. */
struct kernel {
	us_gva base, at[4];
};

static bool name_of(void *ctx, us_gva pc, struct us_named *ret)
{
	static const char *const name[] = { "schedule", "init", "init", "vfs_read" };
	const struct kernel *m = ctx;
	for (size_t k = 0; k < 4; k++) {
		*ret = (struct us_named){ m->base + m->at[k], 0x100, name[k], "linux" };
		if (pc - ret->start < 0x100)
			return true;
	}
	return false;
}

/* The first kernel runs each function for a second, the other all but the first init.
 */
static void expect_moved(const struct kernel *other, const char *want)
{
	struct kernel first = { 0xffffffff81000000, { 0, 0x100, 0x200, 0x300 } };
	struct kernel second = *other;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	struct us_writer *w;
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	us_writer_name_by(w, &(struct us_namer){ name_of, &first });
	for (unsigned k = 0; k < 4; k++)
		write_at(w, first.base + first.at[k] + 1, k * 1000, k * 1000 + 1000);
	assert_int_equal(us_writer_fact(w, "linux_changed", "4.5 5.0", NULL), 0);
	us_writer_name_by(w, &(struct us_namer){ name_of, &second });
	write_at(w, second.base + second.at[0] + 1, 5000, 6000);
	write_at(w, second.base + second.at[2] + 1, 6000, 7000);
	write_at(w, second.base + second.at[3] + 1, 7000, 8000);
	check(w, fd, want);
}

static void names_of_the_one_that_ran(void **state)
{
	(void)state;
	expect(NULL, NULL, "of_the_first 1000");
	expect("3.0 4.5", "of_the_second",
	       "of_the_first 300, ? 150, of_the_second 550");
}

/* The same build at another address: functions of one name are told apart by where they
 * are in it. */
static void namesakes_of_a_moved_one(void **state)
{
	(void)state;
	expect_moved(&(struct kernel){ 0xffffffff82a00000, { 0, 0x100, 0x200, 0x300 } },
		     "schedule 200, init (0xffffffff81000100) 100, "
		     "init (0xffffffff81000200) 200, vfs_read 200");
	/* In another build by their order: the one that ran is the first. */
	expect_moved(&(struct kernel){ 0xffffffff82a00000, { 0, 0x100, 0x200, 0x700 } },
		     "schedule 200, init (0xffffffff81000100) 200, "
		     "init (0xffffffff81000200) 100, vfs_read 200");
}

/* It is gone, and what runs instead is not known. */
static void of_an_unknown_one_none(void **state)
{
	(void)state;
	expect("3.0 4.0", NULL, "of_the_first 300, ? 700");
}

/* As the first version wrote it, or by somebody who means ill. */
static void no_list_of_times(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"1", "", "x y", "5 4", "nan nan", "-1 3", "inf inf", "1e300 1e301"
	};
	for (size_t k = 0; k < sizeof(bad) / sizeof(*bad); k++)
		expect(bad[k], NULL, "of_the_first 1000");
}

static void moments(void **state)
{
	(void)state;
	struct us_kernels k;
	us_kernels_parse("1 2 3.5 3.5 3 4", &k);
	assert_int_equal(k.n, 2); /* the third is not behind the second */
	assert_int_equal(us_kernels_at(&k, 0), 0);
	assert_int_equal(us_kernels_at(&k, US_NS_PER_SEC), US_KERNELS_UNKNOWN);
	assert_int_equal(us_kernels_at(&k, 2 * US_NS_PER_SEC), 1);
	assert_int_equal(us_kernels_at(&k, 3500 * US_NS_PER_MS), 2);
	us_kernels_parse(
		"0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9 10 10 11 11 12 12 13 13 "
		"14 14 15 15 16 16 17 17 18",
		&k);
	assert_int_equal(k.n, US_KERNELS_MAX);
	us_kernels_parse(NULL, &k);
	assert_int_equal(k.n, 0);
	assert_int_equal(us_kernels_at(&k, UINT64_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_the_one_that_ran),
		cmocka_unit_test(namesakes_of_a_moved_one),
		cmocka_unit_test(of_an_unknown_one_none),
		cmocka_unit_test(no_list_of_times),
		cmocka_unit_test(moments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
