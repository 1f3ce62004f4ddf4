/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose stacks are: by the thread itself, by its stack, by its page tables. */
#include "unit.h"

#include "base/clock.h"
#include "profile/groups.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define S     US_NS_PER_SEC
#define STACK 0xffffc90000004000ULL
#define ROOT  0x10000U

/* A stack of the kernel, called by a program or not; marks 0: none. */
struct sample {
	unsigned n; /* samples: one each 10 ms, one sort after the other */
	us_gpa root;
	uint64_t task;
};

struct given {
	struct us_process process[2];
	struct us_task task[6];
	size_t n_process, n_task;
	struct sample sample[6];
};

static void write_sample(struct us_writer *w, uint64_t t_ns, const struct sample *x)
{
	struct us_sample s = {
		.t_ns = t_ns, .weight = 1, .end = US_END_ROOT, .state = US_VCPU_GUEST
	};
	us_gva pc[4] = { 0xffffffff81000000 };
	uint8_t flags[4] = { 0 };
	size_t n = 1;
	if (x->root) {
		pc[n] = 0x401000, flags[n++] = US_PC_USER | US_PC_EXACT;
		pc[n] = x->root, flags[n++] = US_PC_SPACE;
	}
	if (x->task)
		pc[n] = x->task, flags[n++] = US_PC_TASK;
	assert_int_equal(us_writer_sample(w, &s, pc, flags, n, NULL), 0);
}

static struct us_profile *profile_of(const struct given *g,
				     const struct us_profile_opts *more)
{
	struct us_profile_opts o = *more;
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	struct us_writer *w;
	struct us_record_stats stats = { .elapsed_ns = 10 * S, .vcpu_ns = 10 * S };
	int fd = memfd_create("recording", MFD_CLOEXEC);
	uint64_t t_ns = 0;
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	for (size_t k = 0; k < sizeof(g->sample) / sizeof(*g->sample); k++)
		for (unsigned n = 0; n < g->sample[k].n; n++, stats.due++)
			write_sample(w, t_ns += 10 * US_NS_PER_MS, &g->sample[k]);
	stats.running = stats.due;
	for (size_t k = 0; k < g->n_process; k++)
		assert_int_equal(us_writer_process(w, &g->process[k], NULL), 0);
	for (size_t k = 0; k < g->n_task; k++)
		assert_int_equal(us_writer_task(w, &g->task[k], NULL), 0);
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	o.processes = o.by_vcpu = true;
	lseek(fd, 0, SEEK_SET);
	if (us_profile_read(fd, &o, &p, &e))
		fail_msg("%s", e.msg);
	close(fd);
	return p;
}

/* "name: weight, ..." the largest first. */
static void expect(const struct given *g, enum us_profile_by by, const char *want)
{
	struct us_profile *p = profile_of(g, &(struct us_profile_opts){ 0 });
	struct us_profile_groups groups;
	char got[512] = "";
	assert_int_equal(us_profile_groups(p, by, &groups), 0);
	for (size_t k = 0; k < groups.n; k++) {
		size_t n = strlen(got);
		snprintf(got + n, sizeof(got) - n, "%s%s: %u", k ? ", " : "",
			 groups.v[k].name, (unsigned)groups.v[k].weight);
	}
	assert_string_equal(got, want);
	us_profile_groups_fini(&groups);
	us_profile_free(p);
}

static const struct given threads = {
	.task = { { .id = 1,
		    .pid = 107,
		    .tgid = 107,
		    .name = "server",
		    .process = "server",
		    .cgroup = "/docker" },
		  { .id = 2,
		    .pid = 108,
		    .tgid = 107,
		    .inner = 9,
		    .name = "worker",
		    .process = "server",
		    .cgroup = "/docker" },
		  { .id = 3,
		    .pid = 12,
		    .tgid = 12,
		    .kernel_thread = true,
		    .name = "ksoftirqd/0",
		    .process = "ksoftirqd/0",
		    .cgroup = "" } },
	.n_task = 3,
	.sample = { { 50, ROOT, 1 },
		    { 40, ROOT, 2 },
		    { 30, 0, 3 },
		    { 20, 0, 0 },
		    { 10, ROOT, 0 },
		    { 5, 0, 4 } },
};

static void threads_have_names(void **state)
{
	(void)state;
	expect(&threads, US_BY_PROCESS,
	       "server (107): 90, ksoftirqd/0 (12): 30, [kernel]: 20, [not known]: 15");
	expect(&threads, US_BY_THREAD,
	       "server (107): 50, worker (108, inside 9) of server (107): 40, "
	       "ksoftirqd/0 (12): 30, [kernel]: 20, [not known]: 15");
	expect(&threads, US_BY_COMM,
	       "server: 50, worker: 40, ksoftirqd/0: 30, [kernel]: 20, [not known]: "
	       "15");
	expect(&threads, US_BY_CONTAINER, "/docker: 90, [kernel]: 50, [not known]: 15");
	struct given g = threads;
	g.process[0] = (struct us_process){ .root = ROOT, .pid = 7, .name = "sh" };
	g.n_process = 1;
	expect(&g, US_BY_THREAD,
	       "server (107): 50, worker (108, inside 9) of server (107): 40, "
	       "ksoftirqd/0 (12): 30, [kernel]: 20, [a thread of sh (7)]: 10, "
	       "[not known]: 5");
	expect(&g, US_BY_CONTAINER, "/docker: 90, [kernel]: 50, [not known]: 15");
	g.process[0] =
		(struct us_process){ .root = ROOT, .pid = 107, .name = "server" };
	expect(&g, US_BY_CONTAINER, "/docker: 100, [kernel]: 50, [not known]: 5");
}

/* The number in a pid namespace is told with a process's first thread, and is that of
 * all its samples, also of those that are known by their page tables alone. */
static void processes_of_a_namespace_are_one(void **state)
{
	(void)state;
	struct given g = threads;
	g.process[0] =
		(struct us_process){ .root = ROOT, .pid = 107, .name = "server" };
	g.n_process = 1;
	g.task[0].inner = 1;
	expect(&g, US_BY_PROCESS,
	       "server (107, inside 1): 100, ksoftirqd/0 (12): 30, [kernel]: 20, "
	       "[not known]: 5");
	expect(&g, US_BY_THREAD,
	       "server (107, inside 1): 50, worker (108, inside 9) of server (107, "
	       "inside 1): 40, ksoftirqd/0 (12): 30, [kernel]: 20, [a thread of server "
	       "(107, inside 1)]: 10, [not known]: 5");
}

/* Of 5 s: on one stack and the same page tables all the time. */
static const struct given stacks = {
	.process = { { .root = ROOT, .pid = 107, .name = "sh" } },
	.n_process = 1,
	.task = { { .stack = STACK,
		    .stack_size = 0x4000,
		    .until_ns = 2 * S,
		    .pid = 107,
		    .tgid = 107,
		    .name = "sh",
		    .process = "sh",
		    .cgroup = "" },
		  { .stack = STACK,
		    .stack_size = 0x4000,
		    .from_ns = 3 * S,
		    .pid = 109,
		    .tgid = 109,
		    .name = "cat",
		    .process = "cat",
		    .cgroup = "" } },
	.n_task = 2,
	.sample = { { 500, 0, STACK } },
};

static void stacks_change_hands(void **state)
{
	(void)state;
	expect(&stacks, US_BY_THREAD, "cat (109): 201, sh (107): 199, [kernel]: 100");
	struct given g = stacks;
	g.sample[0].task = STACK + 0x4000; /* an interrupt's */
	expect(&g, US_BY_THREAD, "[kernel]: 500");
	g.sample[0].root = ROOT;
	expect(&g, US_BY_PROCESS, "sh (107): 500");
	expect(&g, US_BY_THREAD, "sh (107): 500"); /* it has no other thread */
	g.task[1].tgid = 107;
	expect(&g, US_BY_THREAD, "[a thread of sh (107)]: 500");
	g.task[1].tgid = 109;
	g.process[0].name = "ls"; /* the thread is known by another name alone */
	expect(&g, US_BY_THREAD, "[a thread of ls (107)]: 500");
}

/* Samples from before the kernel was known tell page tables only.  The list of tasks
 * says that the process has one thread, or several in one cgroup. */
static void tables_of_one_thread(void **state)
{
	(void)state;
	struct given g = threads;
	g.process[0] =
		(struct us_process){ .root = ROOT, .pid = 107, .name = "server" };
	g.n_process = 1;
	g.task[1] = g.task[0]; /* no worker */
	g.task[1].id = 0;
	g.task[1].stack = STACK;
	g.task[1].stack_size = 0x4000;
	g.sample[1].task = 0;
	g.sample[1].n = 39;
	expect(&g, US_BY_THREAD,
	       "server (107): 99, ksoftirqd/0 (12): 30, [kernel]: 20, [not known]: 5");
	expect(&g, US_BY_COMM,
	       "server: 99, ksoftirqd/0: 30, [kernel]: 20, [not known]: 5");
	expect(&g, US_BY_CONTAINER, "/docker: 99, [kernel]: 50, [not known]: 5");
	g.task[3] = g.task[1]; /* one that no sample met */
	g.task[3].stack += 0x4000;
	g.task[3].pid = 108;
	g.n_task = 4;
	expect(&g, US_BY_THREAD,
	       "server (107): 50, [a thread of server (107)]: 49, ksoftirqd/0 (12): "
	       "30, [kernel]: 20, [not known]: 5");
	expect(&g, US_BY_CONTAINER, "/docker: 99, [kernel]: 50, [not known]: 5");
	g.task[3].cgroup = "/other";
	expect(&g, US_BY_CONTAINER, "[not known]: 54, /docker: 50, [kernel]: 50");
}

/* Each program that the one thread ran has its name. */
static void tables_of_a_shell(void **state)
{
	(void)state;
	struct given g = stacks;
	g.process[1] =
		(struct us_process){ .root = 2 * ROOT, .pid = 107, .name = "ls" };
	g.n_process = 2;
	g.task[1] = g.task[0];
	g.task[1].from_ns = 3 * S;
	g.task[1].until_ns = 0;
	g.task[1].name = g.task[1].process = "ls";
	g.sample[0] = (struct sample){ 30, ROOT, 0 };
	g.sample[1] = (struct sample){ 20, 2 * ROOT, 0 };
	expect(&g, US_BY_THREAD, "sh (107): 30, ls (107): 20");
}

static void filters_hold(void **state)
{
	(void)state;
	const struct {
		struct us_profile_opts o;
		uint64_t running;
	} all[] = {
		{ { .pid = { 107 }, .n_pid = 1 }, 90 },
		{ { .pid = { 108 }, .n_pid = 1 }, 40 },
		{ { .pid = { 12, 108 }, .n_pid = 2 }, 70 },
		{ { .pid = { 9 }, .n_pid = 1 }, 0 },
		{ { .filter = { { US_BY_COMM, "^work" } }, .n_filter = 1 }, 40 },
		{ { .filter = { { US_BY_CONTAINER, "dock" } }, .n_filter = 1 }, 90 },
		{ { .filter = { { US_BY_THREAD, "^server" } }, .n_filter = 1 }, 50 },
	};
	for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
		struct us_profile *p = profile_of(&threads, &all[k].o);
		assert_int_equal(us_profile_summary(p)->running, all[k].running);
		us_profile_free(p);
	}
}

static void roots_are_owners(void **state)
{
	(void)state;
	struct us_profile *p = profile_of(
		&threads, &(struct us_profile_opts){ .roots = US_BY_PROCESS });
	size_t n, n_func;
	const struct us_profile_node *node = us_profile_nodes(p, &n);
	const struct us_profile_func *func = us_profile_funcs(p, &n_func);
	char got[256] = "";
	for (uint32_t k = node[0].child; k; k = node[k].next) {
		size_t at = strlen(got);
		snprintf(got + at, sizeof(got) - at, "%s: %u, ",
			 func[node[k].func].name, (unsigned)node[k].total);
		assert_int_equal(node[k].self, 0);
	}
	assert_string_equal(got, "server (107): 90, ksoftirqd/0 (12): 30, [kernel]: "
				 "20, [not known]: 15, ");
	us_profile_free(p);
}

static void sums_say_how(void **state)
{
	(void)state;
	struct us_profile *p = profile_of(&threads, &(struct us_profile_opts){ 0 });
	struct us_profile_owners s = us_profile_owners(p);
	assert_true(us_profile_owners_known(p));
	assert_int_equal(s.current, 120);
	assert_int_equal(s.stack + s.tables, 0);
	assert_int_equal(s.kernel, 20);
	assert_int_equal(s.nobody, 15);
	us_profile_free(p);
	p = profile_of(&stacks, &(struct us_profile_opts){ 0 });
	s = us_profile_owners(p);
	assert_int_equal(s.stack, 400);
	assert_int_equal(s.kernel, 100);
	us_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_have_names),
		cmocka_unit_test(processes_of_a_namespace_are_one),
		cmocka_unit_test(stacks_change_hands),
		cmocka_unit_test(tables_of_one_thread),
		cmocka_unit_test(tables_of_a_shell),
		cmocka_unit_test(filters_hold),
		cmocka_unit_test(roots_are_owners),
		cmocka_unit_test(sums_say_how),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
