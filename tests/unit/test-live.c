/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording that grows: what is seen of it is what report would show. */
#include "growing.h"

#include "base/clock.h"
#include "base/text.h"
#include "profile/groups.h"
#include "report/report.h"
#include "store/format.h"

#include <errno.h>
#include <fcntl.h>

#define MS US_NS_PER_MS

#define MAIN  0x1000
#define HOT   0x2000
#define COLD  0x3000
#define N_ALL 4000 /* samples, one in a millisecond */

static void start(struct growing *g, const struct us_live_opts *o)
{
	start_with(g, o, "vcpus", "2");
}

/* The first 2000 are two thirds hot, the others a third. */
static void add(struct growing *g, unsigned i)
{
	struct us_err e;
	bool hot = i < N_ALL / 2 ? i % 3 : i % 3 == 0;
	us_gva pc[] = { hot ? HOT : COLD, MAIN + 8 };
	struct us_sample s = { .t_ns = i * MS,
			       .vcpu = i % 2,
			       .state = i % 10 == 9 ? US_VCPU_HALTED : US_VCPU_GUEST,
			       .end = i % 10 == 9 ? US_END_NONE : US_END_ROOT,
			       .weight = 1 };
	size_t n = i % 10 == 9 ? 0 : 2;
	assert_int_equal(us_writer_sample(g->w, &s, pc, NULL, n, &e), 0);
}

static struct us_profile *profile(struct growing *g, const struct us_live_view *v)
{
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	if (us_live_profile(g->l, v, &p, &e))
		fail_msg("%s", e.msg);
	return p;
}

static struct us_profile *read_file(int fd, const struct us_profile_opts *o)
{
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	off_t end = lseek(fd, 0, SEEK_CUR);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	if (us_profile_read(fd, o, &p, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(lseek(fd, end, SEEK_SET), end);
	return p;
}

/* As text: all figures, names, intervals and filters; not how the file ended. */
static char *text_of(const struct us_profile *p)
{
	const struct us_report_opts o = { .sort = US_SORT_SELF };
	struct us_err e;
	char *text = NULL, *line;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	assert_int_equal(us_report(p, us_format_by_name("text"), &o, out, &e), 0);
	fclose(out);
	line = strstr(text, "# warning: the recording has no end");
	if (line) {
		char *next = strchr(line, '\n') + 1;
		if (!strncmp(next, "#   ", 4))
			next = strchr(next, '\n') + 1;
		memmove(line, next, strlen(next) + 1);
	}
	return text;
}

static void same(struct us_profile *a, struct us_profile *b)
{
	char *x = text_of(a), *y = text_of(b);
	assert_string_equal(x, y);
	free(x);
	free(y);
	us_profile_free(a);
	us_profile_free(b);
}

static void compare(struct growing *g, const struct us_live_view *v,
		    const struct us_profile_opts *o)
{
	same(profile(g, v), read_file(g->fd, o));
}

static void test_as_report(void **state)
{
	(void)state;
	struct us_err e;
	struct growing g;
	start(&g, NULL);
	for (unsigned i = 0; i < N_ALL; i++) {
		add(&g, i);
		if (i % 1000 != 999)
			continue;
		const struct us_record_stats stats = { .elapsed_ns = i * MS };
		assert_int_equal(us_writer_stats(g.w, &stats, &e), 0);
		follow(&g);
		uint64_t now = us_live_now_ns(g.l);
		assert_int_equal(now, i * MS);
		compare(&g, &(struct us_live_view){ 0 }, NULL);
		compare(&g, &(struct us_live_view){ .last_ns = 500 * MS },
			&(struct us_profile_opts){ .from_ns = now - 500 * MS });
		compare(&g,
			&(struct us_live_view){ .from_ns = 100 * MS,
						.to_ns = 900 * MS,
						.vcpu_mask = 2 },
			&(struct us_profile_opts){ .from_ns = 100 * MS,
						   .to_ns = 900 * MS,
						   .vcpu_mask = 2 });
		compare(&g, &(struct us_live_view){ .focus = "^0x2000" },
			&(struct us_profile_opts){ .focus = "^0x2000" });
	}
	stop(&g);
}

/* What is not in memory any more is read from the file again. */
static void test_longer_than_memory(void **state)
{
	(void)state;
	struct growing g;
	start(&g, &(struct us_live_opts){ .keep_ns = 300 * MS });
	for (unsigned i = 0; i < N_ALL; i++) {
		add(&g, i);
		if (i % 100 == 99)
			follow(&g);
	}
	compare(&g, &(struct us_live_view){ 0 }, NULL);
	compare(&g, &(struct us_live_view){ .from_ns = 10 * MS, .to_ns = 3000 * MS },
		&(struct us_profile_opts){ .from_ns = 10 * MS, .to_ns = 3000 * MS });
	uint64_t from = us_live_now_ns(g.l) - 200 * MS;
	compare(&g, &(struct us_live_view){ .last_ns = 200 * MS },
		&(struct us_profile_opts){ .from_ns = from });
	stop(&g);
}

static void test_vcpus(void **state)
{
	(void)state;
	struct us_live_vcpu v[3];
	struct growing g;
	start(&g, NULL);
	for (unsigned i = 0; i < 1000; i++)
		add(&g, i);
	follow(&g);
	assert_int_equal(us_live_n_vcpu(g.l), 2);
	us_live_vcpus(g.l, &(struct us_live_view){ 0 }, v, 3);
	assert_true(v[0].seen && v[1].seen && !v[2].seen);
	assert_int_equal(v[0].guest, 500);
	assert_int_equal(v[1].guest, 400);
	assert_int_equal(v[1].idle, 100);
	assert_int_equal(v[1].state, US_VCPU_HALTED);
	us_live_vcpus(g.l, &(struct us_live_view){ .last_ns = 10 * MS }, v, 3);
	assert_int_equal(v[0].guest + v[1].guest + v[1].idle, 11);
	stop(&g);
}

/* Of one vCPU's last sample: a path. */
static void test_stack(void **state)
{
	(void)state;
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	struct growing g;
	size_t n, n_func;
	start(&g, NULL);
	assert_int_equal(us_live_stack(g.l, 0, &p, &e), -ENOENT);
	add(&g, 0);
	add(&g, 1);
	add(&g, 9);
	follow(&g);
	assert_int_equal(us_live_stack(g.l, 0, &p, &e), 0);
	const struct us_profile_node *v = us_profile_nodes(p, &n);
	const struct us_profile_func *f = us_profile_funcs(p, &n_func);
	assert_int_equal(n, 3);
	assert_int_equal(f[v[1].func].start, MAIN);
	assert_int_equal(f[v[2].func].start, COLD);
	us_profile_free(p);
	assert_int_equal(us_live_stack(g.l, 1, &p, &e), 0);
	(void)us_profile_nodes(p, &n);
	assert_int_equal(n, 1); /* it has halted */
	us_profile_free(p);
	assert_int_equal(us_live_stack(g.l, 2, &p, &e), -ENOENT);
	assert_int_equal(us_live_stack(g.l, UINT32_MAX, &p, &e), -ENOENT);
	stop(&g);
}

static void test_saved(void **state)
{
	(void)state;
	struct us_err e = { 0 };
	struct growing g;
	start(&g, NULL);
	for (unsigned i = 0; i < 1000; i++)
		add(&g, i);
	follow(&g);
	int fd = memfd_create("saved", MFD_CLOEXEC);
	assert_int_equal(us_live_save(g.l, fd, &e), 0);
	for (unsigned i = 1000; i < 1100; i++) /* not in it */
		add(&g, i);
	assert_int_equal(us_writer_flush(g.w, &e), 0);
	struct us_profile *p = read_file(fd, NULL);
	assert_true(us_profile_summary(p)->file.ended);
	assert_int_equal(us_profile_summary(p)->end, US_RECORD_DONE);
	same(p, profile(&g, &(struct us_live_view){ 0 }));
	close(fd);
	fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		assert_int_equal(us_live_save(g.l, fd, &e), -ENOSPC);
		close(fd);
	}
	stop(&g);
}

static void test_end(void **state)
{
	(void)state;
	const struct us_record_stats stats = { .elapsed_ns = 2000 * MS };
	enum us_record_end end;
	const char *words;
	struct us_err e = { 0 };
	struct growing g;
	start(&g, NULL);
	for (unsigned i = 0; i < 1000; i++)
		add(&g, i);
	follow(&g);
	assert_false(us_live_ended(g.l, &end, &words));
	assert_int_equal(
		us_writer_end(g.w, &stats, US_RECORD_GUEST_GONE, "it went", &e), 0);
	assert_int_equal(us_live_follow(g.l, &e), 0);
	assert_true(us_live_ended(g.l, &end, &words));
	assert_int_equal(end, US_RECORD_GUEST_GONE);
	assert_string_equal(words, "it went");
	assert_int_equal(us_live_now_ns(g.l), 2000 * MS);
	compare(&g, &(struct us_live_view){ 0 }, NULL);
	stop(&g);
}

/* Half a chunk is waited for; a damaged one is an error, and what was before stays. */
static void test_damage(void **state)
{
	(void)state;
	static const uint8_t head[] = { 'F', 'A', 'C', 'T', 4, 0, 0, 0, 1, 2, 3, 4 };
	struct us_err e = { 0 };
	struct growing g;
	start(&g, NULL);
	for (unsigned i = 0; i < 100; i++)
		add(&g, i);
	follow(&g);
	uint64_t good = us_live_bytes(g.l);
	assert_int_equal(write(g.fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(us_live_follow(g.l, &e), 0);
	assert_int_equal(us_live_bytes(g.l), good);
	assert_int_equal(write(g.fd, "a\0b", 4), 4);
	assert_int_equal(us_live_follow(g.l, &e), -EBADMSG);
	assert_non_null(strstr(e.msg, "is damaged"));
	struct us_profile *p = profile(&g, &(struct us_live_view){ 0 });
	assert_int_equal(us_profile_summary(p)->running, 90);
	us_profile_free(p);
	stop(&g);
}

static void test_no_recording(void **state)
{
	(void)state;
	struct us_err e = { 0 };
	struct us_live *l = NULL;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_live_open(fd, NULL, &l, &e), 0);
	assert_int_equal(write(fd, "no recording of ours", 20), 20);
	assert_int_equal(us_live_follow(l, &e), -ENOEXEC);
	us_live_close(l);
	close(fd);
	assert_true(us_live_open(-1, NULL, &l, &e) < 0);
	us_live_close(NULL);
}

/* More stacks than are kept: memory stays, and the samples of old ones have none. */
static void test_many_stacks(void **state)
{
	(void)state;
	struct us_err e;
	struct growing g;
	start(&g, NULL);
	for (uint64_t i = 0; i < US_LIVE_NODES + 1000; i++) {
		us_gva pc = 0x10000 + i * 64;
		struct us_sample s = { .t_ns = i * 1000,
				       .state = US_VCPU_EXIT,
				       .end = US_END_ROOT,
				       .weight = 1 };
		if (us_writer_sample(g.w, &s, &pc, NULL, 1, &e))
			fail_msg("%s", e.msg);
	}
	follow(&g);
	struct us_profile *p = profile(
		&g, &(struct us_live_view){ .from_ns = 500000, .to_ns = 2000000 });
	size_t n, stacks = 0;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++)
		stacks += f[i].total > 0 && f[i].start;
	assert_true(stacks >= 500 && stacks <= 1500);
	us_profile_free(p);
	stop(&g);
}

/* An image that is found later gives names from then on; profiles of before keep
 * theirs. */
static void test_images_change(void **state)
{
	(void)state;
	struct us_err e = { 0 };
	struct growing g;
	struct us_module m = { .start = 1,
			       .end = UINT64_MAX,
			       .match = US_MATCH_YES,
			       .path = "/nonexistent/kernel.elf",
			       .number = 1 };
	start(&g, NULL);
	for (unsigned i = 0; i < 100; i++)
		add(&g, i);
	follow(&g);
	struct us_profile *before = profile(&g, &(struct us_live_view){ 0 });
	assert_int_equal(us_writer_module(g.w, &m, &e), 0);
	follow(&g);
	for (unsigned i = 0; i < 2; i++) {
		struct us_profile *p = profile(&g, &(struct us_live_view){ 0 });
		size_t n, warned = 0;
		assert_int_equal(us_profile_modules(p, &n)->m.number, 1);
		assert_int_equal(n, 1);
		for (size_t k = 0; k < us_profile_n_warning(p); k++)
			warned += !!strstr(us_profile_warning(p, k), "kernel.elf");
		assert_int_equal(warned, 1);
		us_profile_free(p);
	}
	compare(&g, &(struct us_live_view){ 0 }, NULL);
	char *text = text_of(before);
	assert_null(strstr(text, "kernel.elf"));
	free(text);
	stop(&g);
	us_profile_free(before); /* after all that it was made of */
}

static bool shows(struct growing *g, const char *what)
{
	struct us_profile *p = profile(g, &(struct us_live_view){ 0 });
	char *text = text_of(p);
	bool found = strstr(text, what);
	free(text);
	us_profile_free(p);
	return found;
}

static bool name_one(void *ctx, us_gva pc, struct us_named *ret)
{
	bool *done = ctx;
	if (*done || pc < HOT || pc >= HOT + 64)
		return false;
	*done = true;
	*ret = (struct us_named){ HOT, 64, "copy_bytes", "linux" };
	return true;
}

/* A Linux guest's names come when they come, also for stacks of before. */
static void test_names_come(void **state)
{
	(void)state;
	bool done = false;
	struct growing g;
	start(&g, NULL);
	for (unsigned i = 0; i < 100; i++)
		add(&g, i);
	follow(&g);
	assert_false(shows(&g, "copy_bytes"));
	us_writer_name_by(g.w, &(struct us_namer){ name_one, &done });
	for (unsigned i = 100; i < 200; i++)
		add(&g, i);
	follow(&g);
	assert_true(shows(&g, "copy_bytes"));
	compare(&g, &(struct us_live_view){ 0 }, NULL);
	stop(&g);
}

/* What a row of many guests shows. */
static void sums_without_intervals(void **state)
{
	struct growing g;
	const struct us_live_view with = { 0 }, without = { .no_intervals = true };
	size_t n, n_other;
	start(&g, NULL);
	for (unsigned i = 0; i < N_ALL; i++)
		add(&g, i);
	follow(&g);
	struct us_profile *a = profile(&g, &with), *b = profile(&g, &without);
	const struct us_profile_func *f = us_profile_funcs(a, &n);
	const struct us_profile_func *other = us_profile_funcs(b, &n_other);
	assert_int_equal(n, n_other);
	assert_int_equal(us_profile_summary(a)->running,
			 us_profile_summary(b)->running);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(f[i].name, other[i].name);
		assert_int_equal(f[i].self, other[i].self);
		assert_int_equal(f[i].total, other[i].total);
		assert_true(f[i].total_high > 0 && other[i].total_high == 0);
	}
	us_profile_free(a);
	us_profile_free(b);
	stop(&g);
	(void)state;
}

/* --- a Linux guest --- */

#define ROOT 0x10000U

/* The hot function is of one program, the cold one of another, in one of its threads
 * that the sampler told. */
static void add_owned(struct growing *g, unsigned i)
{
	bool hot = i % 3;
	us_gva pc[] = { hot ? HOT : COLD, hot ? ROOT : 2 * ROOT, 7 };
	const uint8_t flags[] = { US_PC_USER | US_PC_EXACT, US_PC_SPACE, US_PC_TASK };
	struct us_sample s = {
		.t_ns = i * MS, .state = US_VCPU_GUEST, .end = US_END_ROOT, .weight = 1
	};
	assert_int_equal(us_writer_sample(g->w, &s, pc, flags, hot ? 2 : 3, NULL), 0);
}

static void tell(struct growing *g, const char *name, uint64_t until_ns)
{
	const struct us_process s[] = {
		{ .root = ROOT, .pid = 107, .until_ns = until_ns, .name = name },
		{ .root = 2 * ROOT, .pid = 108, .name = "cold" },
	};
	const struct us_task t = { .id = 7,
				   .pid = 109,
				   .tgid = 108,
				   .name = name,
				   .process = "cold",
				   .cgroup = "/docker" };
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(us_writer_process(g->w, &s[i], NULL), 0);
	assert_int_equal(us_writer_task(g->w, &t, NULL), 0);
}

/* "name: weight, ...", largest first. */
static void expect_groups(struct us_profile *p, enum us_profile_by by, const char *want)
{
	struct us_profile_groups all;
	char got[256] = "";
	assert_int_equal(us_profile_groups(p, by, &all), 0);
	for (size_t i = 0; i < all.n; i++)
		us_append(got, sizeof(got), "%s%s: %u", i ? ", " : "", all.v[i].name,
			  (unsigned)all.v[i].weight);
	assert_string_equal(got, want);
	us_profile_groups_fini(&all);
}

static void expect_live(struct growing *g, const struct us_live_view *v,
			enum us_profile_by by, const char *want)
{
	struct us_profile *p = profile(g, v);
	expect_groups(p, by, want);
	us_profile_free(p);
}

/* Processes and threads that come, and are told again by other names, are those of a
 * report of the same file; of samples in memory, and of those that are read again. */
static void test_owners(void **state)
{
	(void)state;
	struct growing g;
	const struct us_live_opts few = { .keep_ns = 1000 * MS };
	const struct us_live_view by = { .by_vcpu = true, .processes = true };
	const struct us_live_view last = { .by_vcpu = true,
					   .processes = true,
					   .last_ns = 300 * MS };
	start(&g, &few);
	assert_false(us_live_owners_known(g.l));
	for (unsigned i = 0; i < 900; i++)
		add_owned(&g, i);
	follow(&g);
	expect_live(&g, &by, US_BY_PROCESS,
		    "[page tables 0x10000]: 600, [page tables 0x20000]: 300");
	tell(&g, "first", 0);
	follow(&g);
	assert_true(us_live_owners_known(g.l));
	expect_live(&g, &by, US_BY_PROCESS, "first (107): 600, cold (108): 300");
	for (unsigned i = 900; i < 3000; i++)
		add_owned(&g, i);
	tell(&g, "second", 0);
	follow(&g);
	expect_live(&g, &by, US_BY_PROCESS, "second (107): 2000, cold (108): 1000");
	expect_live(
		&g, &by, US_BY_THREAD,
		"[a thread of second (107)]: 2000, second (109) of cold (108): 1000");
	expect_live(&g, &last, US_BY_PROCESS, "second (107): 201, cold (108): 100");
	/* It goes: what came after is of nobody that is known. */
	tell(&g, "second", 1500 * MS);
	follow(&g);
	struct us_profile_opts o = { .processes = true, .by_vcpu = true };
	struct us_profile *p = read_file(g.fd, &o);
	expect_groups(p, US_BY_PROCESS,
		      "[not known]: 1000, cold (108): 1000, second (107): 1000");
	us_profile_free(p);
	expect_live(&g, &by, US_BY_PROCESS,
		    "[not known]: 1000, cold (108): 1000, second (107): 1000");
	stop(&g);
}

/* Only some, and as roots of stacks. */
static void test_owners_alone(void **state)
{
	(void)state;
	struct growing g;
	struct us_profile_opts only = { .pid = { 107 }, .n_pid = 1 };
	struct us_live_view v = { .processes = true, .only = &only };
	start(&g, NULL);
	for (unsigned i = 0; i < 900; i++)
		add_owned(&g, i);
	follow(&g);
	v = (struct us_live_view){ .if_known = true };
	compare(&g, &v, &(struct us_profile_opts){ 0 }); /* not known, no warning */
	tell(&g, "hot", 0);
	follow(&g);
	v = (struct us_live_view){ .processes = true, .only = &only };
	struct us_profile_opts o = only;
	o.processes = true;
	compare(&g, &v, &o);
	struct us_profile *p = profile(&g, &v);
	assert_int_equal(us_profile_summary(p)->running, 600);
	us_profile_free(p);
	only = (struct us_profile_opts){ .filter = { { US_BY_COMM, "^hot$" } },
					 .n_filter = 1 };
	p = profile(&g, &v);
	assert_int_equal(us_profile_summary(p)->running, 300);
	us_profile_free(p);
	v = (struct us_live_view){ .processes = true, .roots = US_BY_PROCESS };
	compare(&g, &v,
		&(struct us_profile_opts){ .processes = true, .roots = US_BY_PROCESS });
	/* A filter that is none is an error, and the next profile is as before. */
	struct us_err e = { 0 };
	only = (struct us_profile_opts){ .filter = { { US_BY_COMM, "(" } },
					 .n_filter = 1 };
	v = (struct us_live_view){ .processes = true, .only = &only };
	assert_int_equal(us_live_profile(g.l, &v, &p, &e), -EINVAL);
	assert_string_not_equal(e.msg, "");
	stop(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_without_intervals),
		cmocka_unit_test(test_as_report),
		cmocka_unit_test(test_longer_than_memory),
		cmocka_unit_test(test_vcpus),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_saved),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_no_recording),
		cmocka_unit_test(test_many_stacks),
		cmocka_unit_test(test_images_change),
		cmocka_unit_test(test_names_come),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_owners_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
