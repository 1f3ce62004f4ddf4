/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose a sample is: the task of its CPU, its process, names, and cgroups. */
#include "owners-guest.h"

#include <string.h>

static void threads_are_told(void **state)
{
	(void)state;
	uint64_t server = look(0, stack(0) + 0x3f00, 0);
	assert_true(server && !(server >> 63));
	const struct us_linux_who *who = told();
	assert_true(who->id == server && who->pid == 100 && who->tgid == 100);
	assert_string_equal(who->comm, "server");
	assert_int_equal(who->started_ns, 1000);
	assert_false(who->kernel_thread);
	run(0, 1);
	uint64_t worker = look(0, 0x7000, root_of(1));
	assert_true(worker && worker != server);
	who = told();
	assert_string_equal(who->comm, "worker");
	assert_string_equal(who->process, "server");
	run(0, 3);
	assert_true(look(0, stack(3) + 8, 0));
	assert_true(told()->kernel_thread);
	/* Each is told once. */
	run(0, 0);
	assert_true(look(0, stack(0), 0) == server);
	assert_null(us_owners_peek(&owners));
	/* An interrupt's stack belongs to nobody; the CPU's task runs. */
	assert_true(look(0, STACKS + 0x80000, 0) == server);
}

static void another_name_is_another(void **state)
{
	(void)state;
	uint64_t before = look(0, stack(0), 0);
	told();
	put(task(0) + w->comm, "cat\0er", 7); /* exec(): the rest of the name stays */
	uint64_t cat = look(0, stack(0), 0);
	assert_true(cat && cat != before);
	assert_string_equal(told()->comm, "cat");
	put(task(0) + w->comm, "cat\0\0", 6);
	assert_true(look(0, stack(0), 0) == cat);
	put64(task(0) + w->start, 5); /* the number and the name were used again */
	assert_true(look(0, stack(0), 0) != cat);
	assert_int_equal(told()->started_ns, 5);
}

static void nobody_is_blamed(void **state)
{
	(void)state;
	/* No CPU's task has these page tables. */
	assert_int_equal(look(0, 0x7000, root_of(0) + 0x10000), 0);
	uint64_t server = look(0, stack(0), 0);
	assert_true(server);
	/* A program's page tables are not those of the CPU's task. */
	assert_int_equal(look(0, 0x7000, root_of(2)), 0);
	assert_true(look(0, 0x7000, root_of(0)) == server);
	/* Those of user mode, and an address space number, are its own. */
	assert_true(look(0, 0x7000, root_of(0) | 0x1fff) == server);
	run(0, 3); /* a thread of the kernel has none */
	assert_int_equal(look(0, 0x7000, root_of(0)), 0);
}

/* A program that never leaves user mode is that of the CPU with its page tables. */
static void never_in_the_kernel(void **state)
{
	(void)state;
	uint64_t other = look(0, 0x7000, root_of(2)); /* vCPU 0 is the guest's CPU 1 */
	assert_true(other);
	assert_string_equal(told()->comm, "other");
	assert_true(look(0, 0x7000, root_of(2)) == other);
	uint64_t server = look(1, 0x7000, root_of(0));
	assert_true(server);
	assert_string_equal(told()->comm, "server");
}

/* Two threads of a program run: either may be this vCPU's, until one sleeps. */
static void either_thread(void **state)
{
	(void)state;
	run(1, 1);
	for (unsigned n = 0; n < 3; n++)
		assert_int_equal(look(0, 0x7000, root_of(0)), 0);
	reads = 0;
	for (unsigned n = 3; n < 1000; n++)
		assert_int_equal(look(0, 0x7000, root_of(0)), 0);
	assert_true(reads < 8 * US_MAX_VCPUS * 5);
	run(1, 2);
	for (unsigned n = 1000; n < 1023; n++)
		look(0, 0x7000, root_of(0));
	assert_true(look(0, 0x7000, root_of(0)));
	assert_string_equal(told()->comm, "server");
}

/* A kernel without SMP has no numbers of CPUs. */
static void one_cpu_alone(void **state)
{
	(void)state;
	kernel.who.per_cpu = 0;
	kernel.who.current = AREA + w->current;
	assert_true(look(0, 0x7000, root_of(0)));
	assert_string_equal(told()->comm, "server");
}

static void exec_under_one_name(void **state)
{
	(void)state;
	uint64_t server = look(0, stack(0), 0);
	assert_true(look(0, 0x7000, root_of(0)) == server);
	make_program(0, 0x6000);
	assert_true(look(0, 0x7000, root_of(0)) == server);
}

static void cpus_have_other_numbers(void **state)
{
	(void)state;
	/* vCPU 0 is the guest's CPU 1. */
	uint64_t other = look(0, stack(2), 0);
	assert_true(other && look(0, 0x7000, root_of(2)) == other);
	assert_int_equal(look(0, 0x7000, root_of(0)), 0);
	/* It was not so, or is so no more: for a while it may be interrupts. */
	for (unsigned n = 0; n < 99; n++)
		assert_true(look(0, stack(0), 0) == other);
	assert_int_equal(look(0, stack(0), 0), 0);
	assert_true(look(0, stack(0), 0) != other);
	assert_true(look(0, 0x7000, root_of(0)));
}

/* On its way from one task to another the kernel is on the stack of either. */
static void between_two_tasks(void **state)
{
	(void)state;
	uint64_t server = look(0, stack(0), 0);
	run(0, 1);
	uint64_t worker = look(0, stack(1), 0);
	assert_true(worker && worker != server);
	assert_true(look(0, stack(0) + 0x3000, 0) == server);
	run(0, 0);
	assert_true(look(0, stack(1) + 0x3000, 0) == worker);
	/* The stack is another's by now, or the task is. */
	put64(task(1) + w->stack, stack(4));
	assert_true(look(0, stack(1) + 0x3000, 0) == server);
	put64(task(1) + w->stack, stack(1));
	put32(task(1) + w->pid, 141);
	assert_true(look(0, stack(1) + 0x3000, 0) == server);
}

static void full_queue(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < US_OWNERS_QUEUE; n++) {
		put32(task(0) + w->pid, 1000 + n);
		assert_true(look(0, stack(0), 0));
	}
	put32(task(0) + w->pid, 1);
	assert_int_equal(look(0, stack(0), 0), 0);
	assert_int_equal(told()->pid, 1000);
	assert_true(look(0, stack(0), 0));
	for (uint32_t n = 1; n < US_OWNERS_QUEUE; n++)
		assert_int_equal(told()->pid, 1000 + n);
	assert_int_equal(told()->pid, 1);
	assert_null(us_owners_peek(&owners));
}

static void other_captures(void **state)
{
	(void)state;
	const struct us_live_sample l = { .capture = &capture, .paging = &paging };
	look(0, stack(1) + 0x123, 0);
	capture.form = US_CAPTURE_WINDOW;
	assert_true(us_owners_of(&owners, &kernel, &l) == stack(1));
	capture.regs.user = true;
	assert_int_equal(us_owners_of(&owners, &kernel, &l), 0);
	capture.regs.user = false;
	capture.regs.sp = 0x1000; /* not the kernel's */
	assert_int_equal(us_owners_of(&owners, &kernel, &l), 0);
	capture.regs.sp = stack(1);
	capture.regs.sp_unknown = true;
	assert_int_equal(us_owners_of(&owners, &kernel, &l), 0);
	assert_int_equal(us_owners_of(&owners, NULL, &l), 0);
	kernel.has_tasks = false;
	assert_int_equal(us_owners_of(&owners, &kernel, &l), 0);
}

/* What was found elsewhere than by name. */
static void what_fits(void **state)
{
	(void)state;
	us_paging_new_sample(&paging);
	assert_true(us_linux_who_fits(w, &paging, &space));
	put64(AREA + w->current, 0); /* before its first task */
	us_paging_new_sample(&paging);
	assert_true(us_linux_who_fits(w, &paging, &space));
	run(0, 1); /* a thread, whose leader is another */
	us_paging_new_sample(&paging);
	assert_true(us_linux_who_fits(w, &paging, &space));
	put64(task(0) + w->leader, task(1));
	us_paging_new_sample(&paging);
	assert_false(us_linux_who_fits(w, &paging, &space));
	run(0, 2);
	put64(task(2) + w->stack, stack(2) + 8);
	us_paging_new_sample(&paging);
	assert_false(us_linux_who_fits(w, &paging, &space));
	run(0, 3);
	put(task(3) + w->comm, "k\001", 2);
	us_paging_new_sample(&paging);
	assert_false(us_linux_who_fits(w, &paging, &space));
	put(task(3) + w->comm, "kw", 2);
	put32(task(3) + w->pid, 0x80000000);
	us_paging_new_sample(&paging);
	assert_false(us_linux_who_fits(w, &paging, &space));
	put64(AREA + w->current, STACKS); /* not to be read */
	us_paging_new_sample(&paging);
	assert_false(us_linux_who_fits(w, &paging, &space));
}

static void read_who(unsigned n, struct us_linux_who *who)
{
	us_paging_new_sample(&paging);
	assert_true(us_linux_who_read(w, &paging, &space, task(n), who));
}

static void namespaces_and_cgroups(void **state)
{
	(void)state;
	struct us_linux_who who;
	read_who(0, &who);
	assert_string_equal(who.cgroup, "");
	assert_int_equal(who.inner, 0);
	put64(task(0) + w->thread_pid, task(0) + PID);
	put32(task(0) + PID + w->level, 1);
	put32(task(0) + PID + w->numbers + 16, 7);
	put64(task(0) + NODE + w->kn_parent, task(0) + PARENT);
	put64(task(0) + NODE + w->kn_name, task(0) + NAME);
	put(task(0) + NAME, "docker-1.scope", 15);
	read_who(0, &who);
	assert_string_equal(who.cgroup, "/docker-1.scope");
	assert_int_equal(who.inner, 7);
	/* One in another, for ever; and names that do not end. */
	put64(task(0) + NODE + w->kn_parent, task(0) + NODE);
	memset(memory + NAME, 'x', 256);
	reads = 0;
	read_who(0, &who);
	assert_true(strlen(who.cgroup) < US_LINUX_CGROUP);
	assert_true(reads < 100);
	put32(task(0) + PID + w->level, 0x7fffffff);
	put64(task(0) + NODE + w->kn_name, 1);
	read_who(0, &who);
	assert_string_equal(who.cgroup, "");
	assert_int_equal(who.inner, 0);
}

static void group_is(const char *want)
{
	struct us_linux_who who;
	read_who(0, &who);
	assert_string_equal(who.cgroup, want);
}

/* With cgroup v1, what is used of a css_set is its controllers. */
static void cgroups_of_controllers(void **state)
{
	(void)state;
	us_gva set = task(0) + SET, other = task(0) + OTHER, node = task(0) + INNER;
	put64(set + w->subsys, task(0) + CSS); /* one that nobody uses */
	put64(task(0) + CSS + w->css_cgroup, other + 32);
	put64(set + w->subsys + 16, task(0) + CSS + 16);
	put64(task(0) + CSS + 16 + w->css_cgroup, other);
	put32(other + w->group_level, 1);
	put64(other + w->kn, node);
	put64(node + w->kn_parent, task(0) + PARENT);
	put64(node + w->kn_name, task(0) + LABEL);
	put(task(0) + LABEL, "kubepods", 9);
	group_is("/kubepods");
	/* systemd has the service that started it in the hierarchy of v2. */
	put64(task(0) + NODE + w->kn_parent, task(0) + PARENT);
	put64(task(0) + NODE + w->kn_name, task(0) + NAME);
	put(task(0) + NAME, "containerd.service", 19);
	put32(task(0) + GROUP + w->group_level, 1);
	group_is("/kubepods");
	/* With v2 a controller may belong to a group around it. */
	put32(other + w->group_level, 0);
	group_is("/containerd.service");
	put64(set + w->subsys + 16, 0x1000);
	group_is("/containerd.service");
}

static void unreadable(void **state)
{
	(void)state;
	struct us_linux_who who;
	assert_false(us_linux_who_read(w, &paging, &space, 0x1000, &who));
	assert_false(us_linux_who_read(w, &paging, &space, STACKS, &who));
	put64(task(0) + w->leader, 0x1000);
	assert_false(us_linux_who_read(w, &paging, &space, task(0), &who));
	assert_int_equal(look(0, stack(0), 0), 0);
	assert_int_equal(us_linux_who_id(w, &paging, &space, STACKS), 0);
	put64(AREA + w->current, 0x1234);
	us_paging_new_sample(&paging);
	assert_int_equal(us_linux_current(w, &paging, &space, 0), 0);
	put64(w->per_cpu + 8, UINT64_MAX);
	us_paging_new_sample(&paging);
	assert_int_equal(us_linux_current(w, &paging, &space, 1), 0);
	assert_int_equal(us_linux_current(w, &paging, &space, 1U << 30), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(threads_are_told, set_up),
		cmocka_unit_test_setup(another_name_is_another, set_up),
		cmocka_unit_test_setup(nobody_is_blamed, set_up),
		cmocka_unit_test_setup(never_in_the_kernel, set_up),
		cmocka_unit_test_setup(either_thread, set_up),
		cmocka_unit_test_setup(one_cpu_alone, set_up),
		cmocka_unit_test_setup(exec_under_one_name, set_up),
		cmocka_unit_test_setup(cpus_have_other_numbers, set_up),
		cmocka_unit_test_setup(between_two_tasks, set_up),
		cmocka_unit_test_setup(full_queue, set_up),
		cmocka_unit_test_setup(other_captures, set_up),
		cmocka_unit_test_setup(what_fits, set_up),
		cmocka_unit_test_setup(namespaces_and_cgroups, set_up),
		cmocka_unit_test_setup(cgroups_of_controllers, set_up),
		cmocka_unit_test_setup(unreadable, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
