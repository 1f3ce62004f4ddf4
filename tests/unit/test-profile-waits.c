/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tasks wait for, as a profile: by function, process, thread and state, apart from
 * what runs. */
#include "unit.h"

#include "base/clock.h"
#include "profile/groups.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TEXT  0xffffffff81000000ULL
#define LOOKS 40

/* Functions of 256 bytes: the scheduler's first two, places, an entry. */
static const char *const names[] = { "__schedule", "schedule",	  "pipe_read",
				     "do_nap",	   "wait_for_it", "entry" };

static bool name_it(void *ctx, us_gva pc, struct us_named *ret)
{
	bool *told = ctx;
	unsigned k = (unsigned)((pc - TEXT) / 256);
	if (pc < TEXT || k >= 6 || told[k])
		return false;
	told[k] = true;
	*ret = (struct us_named){ TEXT + k * 256, 256, names[k], "linux" };
	return true;
}

/* A task in that place, with all that the kernel has around it. */
static void wait_in(struct us_writer *w, unsigned look, uint32_t waiter, unsigned place,
		    uint8_t state)
{
	/* Return addresses: the last may lie behind the end of its function. */
	us_gva pc[4] = { TEXT + 16, TEXT + 256 + 16, TEXT + place * 256 + 256,
			 TEXT + 5 * 256 + 32 };
	struct us_wait s = { .t_ns = look * 250 * US_NS_PER_MS,
			     .waiter = waiter,
			     .end = US_END_ROOT,
			     .state = state,
			     .inside = 2 };
	assert_int_equal(us_writer_wait(w, &s, pc, NULL, 4, NULL), 0);
}

static void write_tasks(struct us_writer *w)
{
	static const struct us_waiter tasks[] = {
		{ 1, 40, 40, false, "server", "server" },
		{ 2, 41, 40, false, "worker", "server" },
		{ 3, 50, 50, false, "napper", "napper" },
		{ 4, 9, 9, true, "kworker/0:1", "kworker/0:1" },
	};
	for (size_t k = 0; k < 4; k++)
		assert_int_equal(us_writer_waiter(w, &tasks[k], NULL), 0);
	for (unsigned look = 0; look < LOOKS; look++) {
		wait_in(w, look, 1, 2, US_WAIT_SLEEPS);
		wait_in(w, look, 2, 2, US_WAIT_SLEEPS);
		wait_in(w, look, 3, 3, look % 4 ? US_WAIT_SLEEPS : US_WAIT_READY);
		wait_in(w, look, 4, 4, US_WAIT_BLOCKED);
	}
}

static int recording(bool with)
{
	static const struct us_record_stats stats = { .elapsed_ns = 10 * US_NS_PER_SEC,
						      .due = 100,
						      .running = 100 };
	static const struct us_wait_stats sums = {
		.looks = LOOKS, .tasks = 4 * LOOKS, .due = 4 * LOOKS, .taken = 4 * LOOKS
	};
	int fd = memfd_create("recording", MFD_CLOEXEC);
	bool told[6] = { false };
	struct us_writer *w;
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	us_writer_name_by(w, &(struct us_namer){ name_it, told });
	for (unsigned i = 0; i < 100; i++) {
		us_gva pc = TEXT + 5 * 256 + 8;
		struct us_sample s = { .t_ns = i * 100 * US_NS_PER_MS,
				       .weight = 1,
				       .end = US_END_ROOT,
				       .state = US_VCPU_GUEST };
		assert_int_equal(us_writer_sample(w, &s, &pc, NULL, 1, NULL), 0);
	}
	if (with)
		write_tasks(w);
	if (with)
		assert_int_equal(us_writer_wait_stats(w, &sums, NULL), 0);
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static struct us_profile *read_it(bool with, const struct us_profile_opts *o)
{
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	int fd = recording(with);
	if (us_profile_read(fd, o, &p, &e))
		fail_msg("%s", e.msg);
	close(fd);
	return p;
}

static const struct us_profile_func *func(const struct us_profile *p, const char *name)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(f[i].name, name) && f[i].total)
			return &f[i];
	return NULL;
}

static uint64_t self(const struct us_profile *p, const char *name)
{
	const struct us_profile_func *f = func(p, name);
	return f ? f->self : 0;
}

static void places(void **state)
{
	(void)state;
	const struct us_profile_opts o = { .waits = true };
	struct us_profile *p = read_it(true, &o);
	const struct us_profile_waits *w = us_profile_waits(p);
	assert_int_equal(us_profile_summary(p)->running, 4 * LOOKS);
	assert_int_equal(self(p, "pipe_read"), 2 * LOOKS);
	assert_int_equal(self(p, "do_nap"), LOOKS - LOOKS / 4);
	assert_int_equal(self(p, "[waits for a CPU]"), LOOKS / 4);
	assert_int_equal(self(p, "wait_for_it"), LOOKS);
	assert_null(func(p, "schedule"));
	assert_null(func(p, "__schedule"));
	assert_int_equal(func(p, "server (40)")->total, 2 * LOOKS);
	assert_int_equal(func(p, "worker (41)")->total, LOOKS);
	assert_int_equal(func(p, "entry")->total, 4 * LOOKS);
	assert_true(w->shown && w->shown_looks == LOOKS && w->n == 4 * LOOKS);
	assert_int_equal(w->state[US_WAIT_BLOCKED], LOOKS);
	assert_int_equal(w->state[US_WAIT_READY], LOOKS / 4);
	assert_int_equal(us_profile_n_warning(p), 0);
	/* As of 40 observations, not of 160. */
	const struct us_profile_func *f = func(p, "pipe_read");
	assert_true(f->self_low < 0.36 && f->self_high > 0.64);
	us_profile_free(p);
}

static void what_runs_is_apart(void **state)
{
	(void)state;
	const struct us_profile_opts o = { 0 };
	struct us_profile *p = read_it(true, &o);
	assert_int_equal(us_profile_summary(p)->running, 100);
	assert_null(func(p, "pipe_read"));
	assert_true(!us_profile_waits(p)->shown && us_profile_waits(p)->n == 4 * LOOKS);
	us_profile_free(p);
}

static void groups(void **state)
{
	(void)state;
	static const struct {
		enum us_profile_by by;
		const char *text;
	} all[] = {
		{ US_BY_PROCESS,
		  "server (40): 80, kworker/0:1 (9): 40, napper (50): 40, " },
		{ US_BY_THREAD,
		  "kworker/0:1 (9): 40, napper (50): 40, server (40): 40, "
		  "worker (41) of server (40): 40, " },
		{ US_BY_COMM, "kworker/0:1: 40, napper: 40, server: 40, worker: 40, " },
		{ US_BY_STATE, "sleeps: 110, blocked: 40, ready: 10, " },
	};
	const struct us_profile_opts o = { .waits = true, .by_vcpu = true };
	struct us_profile *p = read_it(true, &o);
	for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
		struct us_profile_groups g;
		char got[256] = "";
		assert_int_equal(us_profile_groups(p, all[k].by, &g), 0);
		for (size_t i = 0; i < g.n; i++)
			snprintf(got + strlen(got), sizeof(got) - strlen(got),
				 "%s: %u, ", g.v[i].name, (unsigned)g.v[i].weight);
		assert_string_equal(got, all[k].text);
		us_profile_groups_fini(&g);
	}
	us_profile_free(p);
}

static void filters(void **state)
{
	(void)state;
	static const struct {
		enum us_profile_by by;
		const char *regex;
		uint64_t running;
	} all[] = { { US_BY_PROCESS, "^server", 2 * LOOKS },
		    { US_BY_STATE, "blocked", LOOKS },
		    { US_BY_FUNCTION, "pipe_read", 2 * LOOKS } };
	for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
		struct us_profile_opts o = { .waits = true, .n_filter = 1 };
		o.filter[0] = (struct us_profile_filter){ all[k].by, all[k].regex };
		struct us_profile *p = read_it(true, &o);
		assert_int_equal(us_profile_summary(p)->running, all[k].running);
		us_profile_free(p);
	}
	const struct us_profile_opts o = { .waits = true, .to_ns = 5 * US_NS_PER_SEC };
	struct us_profile *p = read_it(true, &o);
	assert_int_equal(us_profile_summary(p)->running, 2 * LOOKS);
	assert_int_equal(us_profile_waits(p)->shown_looks, LOOKS / 2);
	us_profile_free(p);
}

static void none(void **state)
{
	(void)state;
	const struct us_profile_opts o = { .waits = true };
	struct us_profile *p = read_it(false, &o);
	assert_int_equal(us_profile_summary(p)->running, 0);
	assert_int_equal(us_profile_n_warning(p), 1);
	assert_non_null(strstr(us_profile_warning(p, 0), "record --tasks"));
	us_profile_free(p);
}

static void of_one_recording(void **state)
{
	(void)state;
	const struct us_profile_opts o = { .waits = true };
	struct us_profile_input in[2] = { { "a", recording(true) },
					  { "b", recording(true) } };
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	assert_int_equal(us_profile_read_all(in, 2, &o, &p, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "one recording only"));
	close(in[0].fd);
	close(in[1].fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places), cmocka_unit_test(what_runs_is_apart),
		cmocka_unit_test(groups), cmocka_unit_test(filters),
		cmocka_unit_test(none),	  cmocka_unit_test(of_one_recording),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
