/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose a program is: by its page tables, and only while it was seen to have them. */
#include "unit.h"

#include "base/clock.h"
#include "profile/groups.h"
#include "profile/interval.h"
#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define S US_NS_PER_SEC

struct given {
	struct us_process process[4];
	size_t n_process;
	/* A sample every 10 ms, for 10 s. */
	us_gpa (*root)(unsigned ms); /* 0: called by no program */
	uint32_t weight;	     /* of samples of root 0x10000; 0: 1 */
};

/* A pc of a program, below one of the kernel at each other sample, and the root. */
static void write_sample(struct us_writer *w, unsigned ms, us_gpa root, uint32_t weight)
{
	struct us_sample s = { .t_ns = ms * US_NS_PER_MS,
			       .weight = weight ? weight : 1,
			       .end = US_END_ROOT,
			       .state = US_VCPU_GUEST };
	us_gva pc[3] = { 0xffffffff81000000, 0x401000, root };
	uint8_t flags[3] = { 0, US_PC_USER | US_PC_EXACT, US_PC_SPACE };
	unsigned skip = root && ms / 10 % 2;
	assert_int_equal(us_writer_sample(w, &s, pc + skip, flags + skip,
					  root ? 3 - skip : 1, NULL),
			 0);
}

static struct us_profile *profile_of(const struct given *g, const char *filter)
{
	struct us_profile_opts o = { .processes = true, .by_vcpu = true };
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	struct us_writer *w;
	struct us_record_stats stats = {
		.elapsed_ns = 10 * S, .vcpu_ns = 10 * S, .due = 1000, .running = 1000
	};
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	for (unsigned ms = 0; ms < 10000; ms += 10)
		write_sample(w, ms, g->root(ms),
			     g->root(ms) == 0x10000 ? g->weight : 1);
	for (size_t k = 0; k < g->n_process; k++)
		assert_int_equal(us_writer_process(w, &g->process[k], NULL), 0);
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	if (filter)
		o.filter[o.n_filter++] = (struct us_profile_filter){ US_BY_PROCESS,
								     filter };
	lseek(fd, 0, SEEK_SET);
	if (us_profile_read(fd, &o, &p, &e))
		fail_msg("%s", e.msg);
	close(fd);
	return p;
}

/* "name: weight, ..." the largest first. */
static void expect(const struct given *g, const char *want)
{
	struct us_profile *p = profile_of(g, NULL);
	struct us_profile_groups groups;
	char got[256] = "";
	assert_int_equal(us_profile_groups(p, US_BY_PROCESS, &groups), 0);
	for (size_t k = 0; k < groups.n; k++) {
		size_t n = strlen(got);
		snprintf(got + n, sizeof(got) - n, "%s%s: %u", k ? ", " : "",
			 groups.v[k].name, (unsigned)groups.v[k].weight);
	}
	assert_string_equal(got, want);
	us_profile_groups_fini(&groups);
	us_profile_free(p);
}

static us_gpa two(unsigned ms)
{
	return ms % 100 < 60 ? 0x10000 : ms % 100 < 90 ? 0x20000 : 0;
}

static void roots_have_names(void **state)
{
	(void)state;
	struct given g = { .process = { { .root = 0x10000, .pid = 7, .name = "sh" },
					{ .root = 0x20000, .pid = 9, .name = "dd" } },
			   .n_process = 2,
			   .root = two };
	expect(&g, "sh (7): 600, dd (9): 300, [kernel]: 100");
	/* What it is called later. */
	g.process[2] = g.process[0];
	g.process[2].name = "cat";
	g.n_process = 3;
	expect(&g, "cat (7): 600, dd (9): 300, [kernel]: 100");
	g.n_process = 1;
	expect(&g, "sh (7): 600, [not known]: 300, [kernel]: 100");
	/* A kernel that does not tell: they are told apart. */
	g.n_process = 0;
	expect(&g, "[page tables 0x10000]: 600, [page tables 0x20000]: 300, [kernel]: "
		   "100");
}

static us_gpa tenth(unsigned ms)
{
	return ms % 100 < 10 ? 0x10000 : 0x20000;
}

/* 100 samples of weight 8 in one, 900 of weight 1 in the other: the error of the share
 * is the sum of (weight * (in it - share))^2 over all samples. */
static void weights_widen_intervals(void **state)
{
	(void)state;
	struct given g = { .process = { { .root = 0x10000, .pid = 7, .name = "sh" },
					{ .root = 0x20000, .pid = 9, .name = "dd" } },
			   .n_process = 2,
			   .root = tenth,
			   .weight = 8 };
	expect(&g, "dd (9): 900, sh (7): 800");
	struct us_profile *p = profile_of(&g, NULL);
	struct us_profile_groups all;
	double sh = 800 / 1700.0, dd = 1 - sh;
	double error = 100 * 64 * dd * dd + 900 * sh * sh;
	struct us_interval want = us_interval_wilson(sh, 1700 * 1700 * sh * dd / error);
	struct us_interval narrow = us_interval_wilson(sh, 1700);
	assert_true(want.high - want.low > 2 * (narrow.high - narrow.low));
	assert_int_equal(us_profile_groups(p, US_BY_PROCESS, &all), 0);
	assert_true(fabs(all.v[1].low - want.low) < 1e-9);
	assert_true(fabs(all.v[1].high - want.high) < 1e-9);
	us_profile_groups_fini(&all);
	us_profile_free(p);
}

static us_gpa odd(unsigned ms)
{
	return ms % 100 < 50 ? 0x11000 : 0x10000;
}

static void pairs_are_one(void **state)
{
	(void)state;
	struct given g = { .process = { { .root = 0x10000,
					  .pair = true,
					  .pid = 7,
					  .name = "sh" } },
			   .n_process = 1,
			   .root = odd };
	expect(&g, "sh (7): 1000");
	g.process[0].pair = false;
	expect(&g, "[not known]: 500, sh (7): 500");
}

static us_gpa one(unsigned ms)
{
	(void)ms;
	return 0x10000;
}

/* Its page tables go to another: the time between is of neither. */
static void the_next_is_not_blamed(void **state)
{
	(void)state;
	struct given g = { .process = { { .root = 0x10000,
					  .pid = 7,
					  .until_ns = 4 * S,
					  .name = "sh" },
					{ .root = 0x10000,
					  .pid = 9,
					  .from_ns = 5 * S,
					  .name = "dd" } },
			   .n_process = 2,
			   .root = one };
	expect(&g, "dd (9): 500, sh (7): 400, [not known]: 100");
	/* One that began later had a time when nobody had seen it. */
	g.process[0] = g.process[1];
	g.n_process = 1;
	expect(&g, "[not known]: 500, dd (9): 500");
}

static void filters_hold(void **state)
{
	(void)state;
	struct given g = { .process = { { .root = 0x10000, .pid = 7, .name = "sh" } },
			   .n_process = 1,
			   .root = two };
	static const struct {
		const char *regex;
		uint64_t running;
	} all[] = { { "^sh \\(7\\)$", 600 }, { "kernel", 100 }, { "not known", 300 } };
	for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
		struct us_profile *p = profile_of(&g, all[k].regex);
		assert_int_equal(us_profile_summary(p)->running, all[k].running);
		us_profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots_have_names),
		cmocka_unit_test(weights_widen_intervals),
		cmocka_unit_test(pairs_are_one),
		cmocka_unit_test(the_next_is_not_blamed),
		cmocka_unit_test(filters_hold),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
