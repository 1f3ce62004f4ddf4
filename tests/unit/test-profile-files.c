/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several recordings as one profile: what adds up, what is named by whose images, what
 * is refused. */
#include "unit.h"

#include "base/clock.h"
#include "profile/groups.h"
#include "profile/stacks.h"
#include "profile/time_split.h"
#include "profile/timeline.h"
#include "report/report.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define MS   US_NS_PER_MS
#define MOST US_PROFILE_MAX_RECORDINGS

/* A recording of a guest, of samples at pc and in an exit from there. */
struct given {
	const char *guest, *arch, *name; /* name: of the function at pc, of 64 bytes */
	us_gva pc;
	unsigned samples, exits, idle;
	bool counted, phases;
	unsigned vcpus;	  /* 0: 2 */
	uint64_t each_ns; /* what a sample stands for; 0: 2 ms */
	const char *hz;
	unsigned late;
	const char *of_image; /* the function at pc, in an image that is gone */
};

static const struct given *now; /* whose function the writer asks for */

static bool name_at(void *ctx, us_gva pc, struct us_named *ret)
{
	bool *told = ctx;
	if (*told || pc < now->pc || pc >= now->pc + 64)
		return false;
	*ret = (struct us_named){ now->pc, 64, now->name, "linux" };
	return *told = true;
}

static void write_samples(struct us_writer *w, const struct given *g)
{
	struct us_err e;
	for (unsigned i = 0; i < g->samples + g->exits + g->idle; i++) {
		bool idle = i >= g->samples + g->exits;
		struct us_sample s = { .t_ns = i * MS,
				       .weight = 1,
				       .vcpu = (uint16_t)(i %
							  (g->vcpus ? g->vcpus : 2)),
				       .end = idle ? US_END_NONE : US_END_ROOT,
				       .state = i < g->samples ? US_VCPU_GUEST
						: idle	       ? US_VCPU_HALTED
							       : US_VCPU_EXIT };
		assert_int_equal(us_writer_sample(w, &s, &g->pc, NULL, !idle, &e), 0);
	}
}

static int make(const struct given *g)
{
	struct us_err e;
	struct us_writer *w;
	bool told = false;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	now = g;
	if (g->guest)
		assert_int_equal(us_writer_fact(w, "guest", g->guest, &e), 0);
	if (g->hz)
		assert_int_equal(us_writer_fact(w, "hz", g->hz, &e), 0);
	if (g->arch)
		assert_int_equal(us_writer_fact(w, "arch", g->arch, &e), 0);
	if (g->phases)
		assert_int_equal(us_writer_fact(w, "phase:1", "0 1000 kernel", &e), 0);
	if (g->name)
		us_writer_name_by(w, &(struct us_namer){ name_at, &told });
	if (g->counted) {
		struct us_counted c = { .address = 0x1000, .calls = 1, .self = 9 };
		assert_int_equal(us_writer_counted(w, 0, 1, &c, 1, &e), 0);
	} else {
		write_samples(w, g);
	}
	if (g->of_image) {
		const struct us_module m = { .number = 1,
					     .start = 0x1000,
					     .end = 0x2000,
					     .match = US_MATCH_YES,
					     .path = "/gone/kernel" };
		const struct us_program_name n = { 1, g->pc, 64, g->of_image };
		assert_int_equal(us_writer_module(w, &m, &e), 0);
		assert_int_equal(us_writer_image_names(w, &n, 1, &e), 0);
	}
	unsigned n = g->samples + g->exits + g->idle;
	uint64_t each_ns = g->each_ns ? g->each_ns : 2 * MS;
	struct us_record_stats s = { .elapsed_ns = 100 * MS,
				     .vcpu_ns = n * each_ns,
				     .due = n + g->late,
				     .late = g->late,
				     .running = g->samples + g->exits,
				     .idle = g->idle };
	assert_int_equal(us_writer_end(w, &s, US_RECORD_DONE, "", &e), 0);
	us_writer_close(w);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int read_them(const struct given *g, size_t n, const struct us_profile_opts *o,
		     struct us_profile **ret, struct us_err *e)
{
	static const char *const names[] = { "one.data", "two.data", "three.data" };
	struct us_profile_input in[MOST];
	for (size_t i = 0; i < n; i++)
		in[i] = (struct us_profile_input){ i < 3 ? names[i] : "more.data",
						   make(&g[i]) };
	int rc = us_profile_read_all(in, n, o, ret, e);
	for (size_t i = 0; i < n; i++)
		close(in[i].fd);
	return rc;
}

static struct us_profile *profile_of(const struct given *g, size_t n,
				     const struct us_profile_opts *o)
{
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	if (read_them(g, n, o, &p, &e))
		fail_msg("%s", e.msg);
	return p;
}

static const struct us_profile_func none;

static const struct us_profile_func *func_named(const struct us_profile *p,
						const char *name)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(f[i].name, name))
			return &f[i];
	return &none;
}

static const struct given two[] = {
	{ .guest = "web",
	  .arch = "x86_64",
	  .name = "serve",
	  .pc = 0x1000,
	  .samples = 40,
	  .exits = 10,
	  .idle = 5 },
	/* The same address is another function there. */
	{ .guest = "db",
	  .arch = "x86_64",
	  .name = "query",
	  .pc = 0x1010,
	  .samples = 20,
	  .exits = 0,
	  .idle = 30 },
};

static void each_is_named_by_its_own(void **state)
{
	(void)state;
	struct us_profile *p = profile_of(two, 2, NULL);
	const struct us_profile_summary *s = us_profile_summary(p);
	assert_int_equal(s->running, 70);
	assert_int_equal(s->idle, 35);
	assert_int_equal(s->stats.due, 105);
	assert_int_equal(s->stats.elapsed_ns, 200 * MS);
	assert_int_equal(func_named(p, "serve")->self, 40);
	assert_int_equal(func_named(p, "serve")->total, 50);
	assert_int_equal(func_named(p, "query")->self, 20);
	assert_string_equal(us_profile_fact(p, "guest"), "web, db");
	assert_false(us_profile_one_layout(p));
	/* They follow one another. */
	assert_true(s->last_ns > 100 * MS);
	us_profile_free(p);
}

/* Its kernel is at another address after each boot. */
static void one_function_of_several_boots(void **state)
{
	(void)state;
	struct given boot[] = { two[0], two[0], two[0] };
	boot[1].pc += 0x1a00000;
	boot[2].pc += 0x2c00000;
	struct us_profile *p = profile_of(boot, 3, NULL);
	assert_false(us_profile_one_layout(p));
	assert_int_equal(func_named(p, "serve")->total, 150);
	us_profile_free(p);
}

static void the_same_guest_adds_up(void **state)
{
	(void)state;
	const struct given again[] = { two[0], two[0], two[0] };
	struct us_profile *p = profile_of(again, 3, NULL);
	size_t n;
	assert_true(us_profile_one_layout(p));
	assert_int_equal(func_named(p, "serve")->total, 150);
	assert_string_equal(us_profile_fact(p, "guest"), "web");
	const struct us_profile_recording *r = us_profile_recordings(p, &n);
	assert_int_equal(n, 3);
	assert_int_equal(r[2].running, 50);
	assert_string_equal(r[2].name, "three.data");
	us_profile_free(p);
}

/* Each recording names the functions of the image that it has seen. */
static void an_image_that_is_gone(void **state)
{
	(void)state;
	struct given boot[] = { two[0], two[0] };
	boot[0].name = boot[1].name = NULL;
	boot[0].of_image = "serve";
	boot[1].of_image = "query";
	boot[1].pc += 64;
	struct us_profile *p = profile_of(boot, 2, NULL);
	assert_true(us_profile_one_layout(p));
	assert_int_equal(func_named(p, "serve")->total, 50);
	assert_int_equal(func_named(p, "query")->total, 50);
	us_profile_free(p);
}

static const struct us_profile_group no_group;

static const struct us_profile_group *group_named(const struct us_profile_groups *g,
						  const char *name)
{
	for (size_t i = 0; i < g->n; i++)
		if (!strcmp(g->v[i].name, name))
			return &g->v[i];
	fail_msg("no group %s", name);
	return &no_group;
}

static void check_groups(const struct us_profile *p, enum us_profile_by by,
			 const char *name, uint64_t weight, uint64_t idle)
{
	struct us_profile_groups g;
	uint64_t sum = 0, self = 0;
	assert_int_equal(us_profile_groups(p, by, &g), 0);
	for (size_t i = 0; i < g.n; i++) {
		sum += g.v[i].weight;
		assert_true(g.v[i].low <= g.v[i].high);
		for (size_t k = 0; k < g.v[i].n; k++)
			self += g.v[i].row[k].self;
	}
	assert_int_equal(sum, us_profile_summary(p)->running);
	assert_int_equal(self, sum);
	assert_int_equal(group_named(&g, name)->weight, weight);
	assert_int_equal(group_named(&g, name)->idle, idle);
	us_profile_groups_fini(&g);
}

static void groups_add_up(void **state)
{
	(void)state;
	struct us_profile *p = profile_of(two, 2,
					  &(struct us_profile_opts){ .by_vcpu = true });
	check_groups(p, US_BY_GUEST, "web", 50, 5);
	check_groups(p, US_BY_GUEST, "db", 20, 30);
	check_groups(p, US_BY_RECORDING, "two.data", 20, 30);
	check_groups(p, US_BY_VCPU, "web vCPU 0", 25, 3);
	check_groups(p, US_BY_STATE, "exit", 10, 0);
	check_groups(p, US_BY_IMAGE, "linux", 60, 0);
	check_groups(p, US_BY_IMAGE, "[vm exit]", 10, 0);
	check_groups(p, US_BY_FILE, "[no source]", 60, 0);
	us_profile_free(p);
}

static uint64_t left(enum us_profile_by by, const char *regex)
{
	struct us_profile_opts o = { .filter = { { by, regex } }, .n_filter = 1 };
	struct us_profile *p = profile_of(two, 2, &o);
	uint64_t running = us_profile_summary(p)->running;
	assert_true(us_profile_filters(p)[0]);
	us_profile_free(p);
	return running;
}

static void filters_leave_what_they_say(void **state)
{
	(void)state;
	assert_int_equal(left(US_BY_GUEST, "^web$"), 50);
	assert_int_equal(left(US_BY_RECORDING, "two"), 20);
	assert_int_equal(left(US_BY_STATE, "exit|ready"), 10);
	assert_int_equal(left(US_BY_IMAGE, "linux"), 60);
	assert_int_equal(left(US_BY_FUNCTION, "qu.ry"), 20);
	assert_int_equal(left(US_BY_FILE, "nothing"), 0);
	struct us_profile_opts o = { .ignore = "serve" };
	struct us_profile *p = profile_of(two, 2, &o);
	assert_int_equal(us_profile_summary(p)->running, 20);
	assert_int_equal(us_profile_summary(p)->unfocused, 50);
	us_profile_free(p);
}

static void refused(const struct given *g, const struct us_profile_opts *o,
		    const char *words)
{
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	assert_true(read_them(g, 2, o, &p, &e) < 0);
	if (!strstr(e.msg, words))
		fail_msg("%s", e.msg);
}

static void what_is_no_profile_is_refused(void **state)
{
	(void)state;
	const struct given archs[] = { two[0], { .arch = "aarch64", .samples = 1 } };
	const struct given counted[] = { two[0], { .counted = true } };
	const struct given phases[] = { two[0], { .phases = true, .samples = 1 } };
	refused(archs, NULL, "one.data is of x86_64, two.data of aarch64");
	refused(counted, NULL, "one.data was sampled, two.data counted");
	refused(phases, NULL, "phases of a boot");
	refused(two, &(struct us_profile_opts){ .host = true }, "--host");
	refused(two,
		&(struct us_profile_opts){ .filter = { { US_BY_STATE, "(" } },
					   .n_filter = 1 },
		"no regular expression");
}

static void one_bad_file_is_named(void **state)
{
	(void)state;
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	struct us_profile_input in[] = { { "good.data", make(&two[0]) },
					 { "bad.data", memfd_create("bad", 0) } };
	assert_int_equal(write(in[1].fd, "nonsense, not a recording", 25), 25);
	lseek(in[1].fd, 0, SEEK_SET);
	assert_int_equal(us_profile_read_all(in, 2, NULL, &p, &e), -ENOEXEC);
	assert_true(strstr(e.msg, "bad.data") != NULL);
	close(in[0].fd);
	close(in[1].fd);
}

static void stacks_know_their_lane(void **state)
{
	(void)state;
	struct us_profile *p = profile_of(two, 2,
					  &(struct us_profile_opts){ .by_vcpu = true });
	struct us_profile_stacks s;
	size_t n;
	char name[256];
	const struct us_profile_lane *lane = us_profile_lanes(p, &n);
	uint64_t of[2] = { 0 };
	assert_int_equal(n, 4);
	assert_int_equal(us_profile_stacks(p, &s), 0);
	for (size_t i = 0; i < s.n_stack; i++)
		of[lane[s.stack[i].lane].recording] += s.stack[i].weight;
	assert_int_equal(of[0], 50);
	assert_int_equal(of[1], 20);
	assert_string_equal(us_profile_lane_name(p, 0, name, sizeof(name)),
			    "web vCPU 0");
	us_profile_stacks_fini(&s);
	us_profile_free(p);
}

/* As many one-vCPU guests as may be given: none gets the samples of another. */
static void many_recordings_have_their_lanes(void **state)
{
	(void)state;
	static struct given many[MOST];
	for (unsigned i = 0; i < MOST; i++)
		many[i] = (struct given){ .pc = 0x1000, .samples = i + 1, .vcpus = 1 };
	struct us_profile *p = profile_of(many, MOST,
					  &(struct us_profile_opts){ .by_vcpu = true });
	struct us_profile_stacks s;
	size_t n;
	const struct us_profile_lane *lane = us_profile_lanes(p, &n);
	assert_int_equal(n, MOST);
	assert_int_equal(us_profile_stacks(p, &s), 0);
	assert_int_equal(s.n_stack, MOST);
	for (size_t i = 0; i < s.n_stack; i++)
		assert_int_equal(lane[s.stack[i].lane].recording + 1,
				 s.stack[i].weight);
	for (size_t place = 0; place < n; place++)
		assert_int_equal(us_profile_lane_at(p, place), place);
	assert_int_equal(us_profile_lane_at(p, n), SIZE_MAX);
	us_profile_stacks_fini(&s);
	us_profile_free(p);
}

static bool warns_of_others(const struct us_profile *p)
{
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		if (strstr(us_profile_warning(p, i), "other vCPUs"))
			return true;
	return false;
}

/* Beyond the limit they are together, and named so. */
static void too_many_vcpus_are_others(void **state)
{
	(void)state;
	static struct given many[US_MAX_LANES / 64 + 1];
	size_t n_file = sizeof(many) / sizeof(*many), n;
	for (size_t i = 0; i < n_file; i++)
		many[i] = (struct given){ .pc = 0x1000, .samples = 64, .vcpus = 64 };
	const struct us_profile_opts o = { .by_vcpu = true, .timeline = true };
	struct us_profile *p = profile_of(many, n_file, &o);
	struct us_profile_groups g;
	char name[64];
	const struct us_profile_lane *lane = us_profile_lanes(p, &n);
	assert_int_equal(n, US_MAX_LANES);
	assert_int_equal(lane[n - 2].others, 0);
	assert_int_equal(lane[n - 1].others, 64 + 1);
	assert_string_equal(us_profile_lane_name(p, n - 1, name, sizeof(name)),
			    "other vCPUs");
	assert_int_equal(us_timeline_count(p, n - 1), 64 + 1);
	assert_int_equal(us_profile_lane_at(p, n - 1), n - 1);
	assert_true(warns_of_others(p));
	assert_int_equal(us_profile_groups(p, US_BY_RECORDING, &g), 0);
	uint64_t others = 0;
	for (size_t i = 0; i < g.n; i++)
		if (!strcmp(g.v[i].name, "other recordings"))
			others += g.v[i].weight;
	assert_int_equal(others, 64 + 1);
	us_profile_groups_fini(&g);
	us_profile_free(p);
}

/* 100 samples of 4 ms, 100 of 1 ms, of which half are idle. */
static void samples_count_for_their_time(void **state)
{
	(void)state;
	static const struct given g[] = {
		{ .guest = "slow", .pc = 0x100, .samples = 100, .each_ns = 4 * MS },
		{ .guest = "fast",
		  .pc = 0x1100,
		  .samples = 50,
		  .idle = 50,
		  .each_ns = 1 * MS },
	};
	struct us_profile *p;
	struct us_err e;
	size_t n;
	assert_int_equal(read_them(g, 2, NULL, &p, &e), 0);
	const struct us_profile_summary *s = us_profile_summary(p);
	assert_int_equal(s->running, 450);
	assert_int_equal(s->idle, 50);
	assert_int_equal(us_profile_period_ns(p), MS);
	const struct us_profile_recording *r = us_profile_recordings(p, &n);
	assert_true(r[0].scale == 4 && r[1].scale == 1);
	assert_int_equal(r[0].running, 400);
	us_profile_free(p);
}

/* A rate and a half: no vCPU gets the larger part by its turn. */
static void parts_of_samples_are_spread(void **state)
{
	(void)state;
	static const struct given g[] = {
		{ .guest = "a", .pc = 0x100, .samples = 4000, .each_ns = 3 * MS },
		{ .guest = "b", .pc = 0x1100, .samples = 4000, .each_ns = 2 * MS },
	};
	const struct us_profile_opts one = { .vcpu_mask = 1 };
	struct us_profile *p;
	struct us_err e;
	size_t n;
	assert_int_equal(read_them(g, 2, &one, &p, &e), 0);
	const struct us_profile_recording *r = us_profile_recordings(p, &n);
	assert_in_range(r[0].running, 2900, 3100);
	assert_int_equal(r[1].running, 2000);
	us_profile_free(p);
}

/* What was not sampled, at each recording's own rate. */
static void time_not_sampled_is_of_its_recording(void **state)
{
	(void)state;
	static const struct given g[] = {
		{ .guest = "slow",
		  .pc = 0x100,
		  .samples = 100,
		  .each_ns = 5 * MS,
		  .hz = "250",
		  .late = 25 },
		{ .guest = "fast",
		  .pc = 0x1100,
		  .samples = 100,
		  .each_ns = 1 * MS,
		  .hz = "1000" },
	};
	struct us_profile *p;
	struct us_time_split t;
	struct us_err e;
	assert_int_equal(read_them(g, 2, NULL, &p, &e), 0);
	us_time_split(p, &t);
	assert_float_equal(t.wall_ns, 600.0 * MS, 1);
	assert_float_equal(t.part_ns[US_TIME_GUEST], 500.0 * MS, MS);
	assert_float_equal(t.part_ns[US_TIME_UNSEEN], 100.0 * MS, 1);
	us_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_count_for_their_time),
		cmocka_unit_test(parts_of_samples_are_spread),
		cmocka_unit_test(time_not_sampled_is_of_its_recording),
		cmocka_unit_test(each_is_named_by_its_own),
		cmocka_unit_test(one_function_of_several_boots),
		cmocka_unit_test(the_same_guest_adds_up),
		cmocka_unit_test(an_image_that_is_gone),
		cmocka_unit_test(groups_add_up),
		cmocka_unit_test(filters_leave_what_they_say),
		cmocka_unit_test(what_is_no_profile_is_refused),
		cmocka_unit_test(one_bad_file_is_named),
		cmocka_unit_test(stacks_know_their_lane),
		cmocka_unit_test(many_recordings_have_their_lanes),
		cmocka_unit_test(too_many_vcpus_are_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
