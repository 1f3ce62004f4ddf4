/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which thread a sample is of: by what the CPU says, where the registers agree. */
#include "unit.h"

#include "cmd/record/owners.h"
#include "linux-tasks.h"

#include <string.h>

#define STEP	4096U /* from one task to the next */
#define MM	3072U
#define SET	2048U /* a css_set, a cgroup, its nodes and a pid, of each task */
#define GROUP	2112U
#define NODE	2176U
#define PARENT	2240U
#define NAME	2304U
#define PID	2560U
#define CSS	2688U /* of controllers, their group, its node and name */
#define OTHER	2752U
#define INNER	2816U
#define LABEL	2880U
#define N_TASKS 7U
#define AREA	(TEST_TASKS + 7 * STEP) /* of CPU 0; of CPU 1: + 128 */
#define STACKS	(TEST_TASKS + 0x100000)

static const struct us_linux_who_layout *const w = &test_who_layout;
static const struct us_space space = { .mode = US_PAGING_OFF };
static uint8_t memory[8 * STEP];
static unsigned reads;
static struct us_mem mem;
static struct us_paging paging;
static struct us_linux kernel;
static struct us_owners owners;
static struct us_capture capture;

static us_gva task(unsigned n)
{
	return TEST_TASKS + n * STEP;
}

static us_gva stack(unsigned n)
{
	return STACKS + n * 0x4000;
}

static void put(us_gva at, const void *bytes, size_t n)
{
	memcpy(memory + (at - TEST_TASKS), bytes, n);
}

static void put64(us_gva at, uint64_t v)
{
	put(at, &v, sizeof(v));
}

static void put32(us_gva at, uint32_t v)
{
	put(at, &v, sizeof(v));
}

static bool read_guest(void *ctx, us_gpa at, void *buf, size_t len)
{
	(void)ctx;
	reads++;
	if (at < TEST_TASKS || at - TEST_TASKS > sizeof(memory) - len)
		return false;
	memcpy(buf, memory + (at - TEST_TASKS), len);
	return true;
}

static void make_task(unsigned n, uint32_t pid, unsigned leader, const char *comm)
{
	char name[US_LINUX_COMM] = "";
	memcpy(name, comm, strnlen(comm, US_LINUX_COMM - 1));
	put32(task(n) + w->pid, pid);
	put32(task(n) + w->tgid, leader == n ? pid : 100 + leader);
	put64(task(n) + w->leader, task(leader));
	put64(task(n) + w->start, 1000 + n);
	put(task(n) + w->comm, name, sizeof(name));
	put64(task(n) + w->stack, stack(n));
	put64(task(n) + w->cgroups, task(n) + SET);
	put64(task(n) + SET + w->dfl_cgrp, task(n) + GROUP);
	put64(task(n) + GROUP + w->kn, task(n) + NODE);
}

static void make_program(unsigned n, uint64_t root)
{
	put64(task(n) + w->mm, task(n) + MM);
	put64(task(n) + MM + w->pgd, TEST_TASKS + root);
}

static void run(unsigned cpu, unsigned n)
{
	put64(AREA + 128 * cpu + w->current, task(n));
}

/* Two CPUs; a process of two threads, another one, a thread of the kernel. */
static int set_up(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	memset(&owners, 0, sizeof(owners));
	mem = (struct us_mem){ .read = read_guest };
	us_mem_init(&mem);
	us_paging_init(&paging, &mem);
	kernel = (struct us_linux){ .space = space,
				    .tasks = test_tasks_layout,
				    .who = test_who_layout,
				    .has_tasks = true,
				    .has_who = true };
	put64(w->per_cpu, AREA);
	put64(w->per_cpu + 8, AREA + 128);
	make_task(0, 100, 0, "server");
	make_task(1, 140, 0, "worker");
	make_task(2, 102, 2, "other");
	make_task(3, 103, 3, "kworker/0:1");
	put32(task(3) + w->flags, 0x200000);
	make_program(0, 0x2000);
	make_program(1, 0x2000);
	make_program(2, 0x4000);
	run(0, 0);
	run(1, 2);
	return 0;
}

/* Of vCPU 0 or 1, in the kernel on a stack, or in a program by its page tables. */
static uint64_t look(unsigned vcpu, us_gva sp, us_gpa root)
{
	capture = (struct us_capture){ .form = US_CAPTURE_LIVE,
				       .vcpu = (uint16_t)vcpu };
	capture.regs.bits = 64;
	capture.regs.user = root != 0;
	capture.regs.sp = sp;
	capture.regs.space.root = root;
	us_paging_new_sample(&paging);
	return us_owners_of(
		&owners, &kernel,
		&(struct us_live_sample){ .capture = &capture, .paging = &paging });
}

static us_gpa root_of(unsigned n)
{
	return us_linux_who_root(w, &paging, &space, task(n));
}

static const struct us_linux_who *told(void)
{
	const struct us_linux_who *who = us_owners_peek(&owners);
	assert_non_null(who);
	us_owners_pop(&owners);
	return who;
}

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
	/* A vCPU's number in the guest is not known before it was in the kernel. */
	assert_int_equal(look(0, 0x7000, root_of(0)), 0);
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

/* --- where the guest is not held: a copy --- */

static struct {
	unsigned vcpu, asked;
	us_gva at;
	struct us_pointed_plan plan;
} point;
static struct us_pointed copied;

static void keep_point(struct us_backend *b, unsigned vcpu, us_gva at,
		       const struct us_pointed_plan *plan)
{
	(void)b;
	point.vcpu = vcpu;
	point.at = at;
	point.plan = *plan;
	point.asked++;
}

static const struct us_backend_ops copying_ops = { .point = keep_point };
static struct us_backend copying = { .ops = &copying_ops };

static int set_up_copy(void **state)
{
	memset(&point, 0, sizeof(point));
	memset(&copied, 0, sizeof(copied));
	return set_up(state);
}

/* As a backend does it. */
static void copy_now(void)
{
	copied = (struct us_pointed){ .plan = point.plan.number };
	assert_true(read_guest(NULL, point.at, &copied.at, 8));
	for (unsigned i = 0; i < point.plan.n; i++) {
		const struct us_pointed_part *part = &point.plan.part[i];
		uint64_t base = copied.at;
		if (part->of == US_POINTED_NOT)
			continue;
		assert_true(part->of <= i);
		if (part->of)
			base = copied.part[part->of - 1][0];
		if (base && read_guest(NULL, base + part->offset, copied.part[i],
				       sizeof(copied.part[i])))
			copied.has |= 1U << i;
	}
}

/* As look(), of vCPU 0, with what was copied. */
static uint64_t look_at_copy(us_gva sp, us_gpa root)
{
	capture = (struct us_capture){ .form = US_CAPTURE_WINDOW,
				       .pointed = copied.plan ? &copied : NULL };
	capture.regs.bits = 64;
	capture.regs.user = root != 0;
	capture.regs.sp = sp;
	capture.regs.space.root = root;
	us_paging_new_sample(&paging);
	return us_owners_of(&owners, &kernel,
			    &(struct us_live_sample){ .capture = &capture,
						      .paging = &paging,
						      .backend = &copying });
}

static void copies_tell_threads(void **state)
{
	(void)state;
	/* The first asks for it, and has the list alone. */
	assert_true(look_at_copy(stack(0) + 8, 0) == stack(0));
	assert_int_equal(point.asked, 1);
	assert_int_equal(point.vcpu, 0);
	assert_true(point.at == AREA + w->current && point.plan.number);
	copy_now();
	uint64_t server = look_at_copy(stack(0) + 8, 0);
	assert_true(server && !(server >> 63));
	const struct us_linux_who *who = told();
	assert_true(who->id == server && who->pid == 100 && who->tgid == 100);
	assert_string_equal(who->comm, "server");
	assert_int_equal(who->started_ns, 1000);
	/* By the same number as where the guest is held. */
	assert_true(look(0, stack(0) + 8, 0) == server);
	memset(&owners.cpu, 0, sizeof(owners.cpu));
	run(0, 1);
	assert_int_equal(look_at_copy(0x7000, root_of(2)), 0); /* not the copy's */
	copy_now();
	uint64_t worker = look_at_copy(0x7000, root_of(1) | 0x1fff);
	assert_true(worker && worker != server);
	who = told();
	assert_string_equal(who->comm, "worker");
	assert_string_equal(who->process, "server");
	/* On an interrupt's stack; and a thread of the kernel. */
	assert_true(look_at_copy(STACKS + 0x80000, 0) == worker);
	run(0, 3);
	copy_now();
	assert_true(look_at_copy(stack(3), 0));
	assert_true(told()->kernel_thread);
	assert_int_equal(look_at_copy(0x7000, root_of(1)), 0);
	assert_null(us_owners_peek(&owners));
}

static void copies_between_two_tasks(void **state)
{
	(void)state;
	look_at_copy(stack(0), 0);
	copy_now();
	uint64_t server = look_at_copy(stack(0), 0);
	run(0, 1);
	copy_now();
	uint64_t worker = look_at_copy(stack(1), 0);
	assert_true(worker && worker != server);
	assert_true(look_at_copy(stack(0) + 8, 0) == server);
	assert_true(look_at_copy(STACKS + 0x80000, 0) == worker);
	put64(task(0) + w->start, 5); /* it has ended since */
	assert_true(look_at_copy(stack(0) + 8, 0) == worker);
}

static void copies_of_who_has_ended(void **state)
{
	(void)state;
	put64(task(2) + w->thread_pid, task(2) + PID);
	put32(task(2) + PID + w->level, 1);
	put32(task(2) + PID + w->numbers + 16, 7);
	run(0, 2);
	look_at_copy(stack(2), 0);
	copy_now();
	us_gpa root = root_of(2);
	/* Its memory is another's by now. */
	make_task(2, 999, 2, "next");
	make_program(2, 0x6000);
	assert_true(look_at_copy(0x7000, root));
	const struct us_linux_who *who = told();
	assert_int_equal(who->pid, 102);
	assert_string_equal(who->comm, "other");
	assert_int_equal(who->inner, 0);
	assert_string_equal(who->cgroup, US_LINUX_CGROUP_UNKNOWN);
	copy_now();
	assert_true(look_at_copy(stack(2), 0));
	who = told();
	assert_int_equal(who->pid, 999);
	assert_int_equal(who->inner, 7);
	assert_string_equal(who->cgroup, "");
}

static void copies_that_do_not_agree(void **state)
{
	(void)state;
	look_at_copy(stack(2), 0);
	copy_now();
	/* vCPU 0 is the guest's CPU 1: nobody is blamed for what it does. */
	for (unsigned n = 0; n < 15; n++)
		assert_true(look_at_copy(n % 2 ? stack(2) : 0x7000,
					 n % 2 ? 0 : root_of(2)) ==
			    (n % 2 ? stack(2) : 0));
	assert_int_equal(point.asked, 1);
	look_at_copy(stack(2), 0);
	assert_int_equal(point.asked, 2);
	assert_true(point.at == AREA + 128 + w->current);
	copy_now();
	uint64_t other = look_at_copy(stack(2), 0);
	assert_true(other && !(other >> 63));
	/* Of a plan before, or not whole. */
	copied.plan--;
	assert_true(look_at_copy(stack(2), 0) == stack(2));
	copy_now();
	copied.has &= ~1U;
	assert_true(look_at_copy(stack(2), 0) == stack(2));
	copied.has = UINT32_MAX;
	memset(copied.part, 0xff, sizeof(copied.part));
	assert_int_equal(look_at_copy(0x7000, root_of(2)), 0);
	/* Another kernel has another plan. */
	uint32_t number = point.plan.number;
	static struct us_linux next;
	next = kernel;
	us_owners_of(&owners, &next,
		     &(struct us_live_sample){ .capture = &capture,
					       .paging = &paging,
					       .backend = &copying });
	assert_int_equal(point.asked, 3);
	assert_true(point.plan.number != number);
	/* It asks no more than so often. */
	for (unsigned n = 0; n < 10000; n++)
		us_owners_of(&owners, &next,
			     &(struct us_live_sample){ .capture = &capture,
						       .paging = &paging,
						       .backend = &copying });
	assert_true(point.asked < 300);
}

/* As look_at_copy(), of an arm64 host: in the kernel with SP_EL0, and with what is old
 * where the host runs in EL2. */
static us_gpa said_root;

static uint64_t look_at_arm(us_gva sp, us_gpa root, us_gva sp_el0, bool old)
{
	capture = (struct us_capture){ .form = US_CAPTURE_WINDOW,
				       .pointed = copied.plan ? &copied : NULL };
	capture.regs.bits = old ? 0 : 64;
	capture.regs.user = root != 0;
	capture.regs.sp = sp;
	capture.regs.sp_unknown = old && !root;
	capture.regs.sp_el0 = sp_el0;
	capture.regs.space.root = root;
	capture.regs.space_old = old;
	us_paging_new_sample(&paging);
	said_root = 0;
	return us_owners_of(&owners, &kernel,
			    &(struct us_live_sample){ .capture = &capture,
						      .paging = &paging,
						      .backend = &copying,
						      .root = &said_root });
}

static void copies_where_sp_el0_agrees(void **state)
{
	(void)state;
	kernel.space.root_upper = 0x9000;
	look_at_arm(stack(0), 0, task(0), false);
	assert_true(point.plan.root_upper == 0x9000);
	copy_now();
	/* On an interrupt's stack, and it is the first sample. */
	uint64_t server = look_at_arm(STACKS + 0x80000, 0, task(0), false);
	assert_true(server && !(server >> 63));
	assert_int_equal(told()->pid, 100);
	/* On the way in it is still the program's, who may have anything there. */
	assert_true(look_at_arm(stack(0) + 8, 0, 0x7000, false) == server);
	assert_true(look_at_arm(stack(0) + 8, 0, task(2), false) == server);
	assert_true(look_at_arm(0x7000, root_of(0), 0, false) == server);
	assert_int_equal(look_at_arm(0x7000, root_of(2), 0, false), 0);
}

static void copies_of_another_cpu_by_sp_el0(void **state)
{
	(void)state;
	/* vCPU 0 is the guest's CPU 1, where no stack pointer is known. */
	look_at_arm(0, 0, task(2), true);
	copy_now();
	for (unsigned n = 0; n < 15; n++)
		assert_int_equal(look_at_arm(0, 0, task(2), true), 0);
	assert_int_equal(point.asked, 1);
	assert_int_equal(look_at_arm(0, 0, task(2), true), 0);
	assert_int_equal(point.asked, 2);
	copy_now();
	assert_true(look_at_arm(0, 0, task(2), true));
	assert_int_equal(told()->pid, 102);
}

static void copies_with_old_roots(void **state)
{
	(void)state;
	look_at_arm(0, 0, task(0), true);
	copy_now();
	/* Not before it has agreed once; nor is another CPU asked for that. */
	for (unsigned n = 0; n < 300; n++)
		assert_int_equal(look_at_arm(0x7000, root_of(2), 0, true), 0);
	assert_int_equal(look_at_arm(0, 0, 0x7000, true), 0);
	assert_int_equal(point.asked, 1);
	uint64_t server = look_at_arm(0, 0, task(0), true);
	assert_true(server && !(server >> 63));
	/* Then the copy is what is true, whatever the root was. */
	assert_true(look_at_arm(0x7000, root_of(2), 0, true) == server);
	assert_true(said_root == root_of(0));
	assert_true(look_at_arm(0, 0, 0x7000, true) == server);
	assert_true(look_at_arm(0x7000, root_of(0), 0, false) == server);
	assert_int_equal(said_root, 0); /* the capture's is good */
	run(0, 2);
	copy_now();
	uint64_t other = look_at_arm(0x7000, root_of(0), 0, true);
	assert_true(other && other != server);
	/* Without a copy there is nothing that may be believed. */
	copied.plan = 0;
	assert_int_equal(look_at_arm(0x7000, root_of(2), 0, true), 0);
	assert_int_equal(look_at_arm(0, 0, task(0), true), 0);
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
		cmocka_unit_test_setup(exec_under_one_name, set_up),
		cmocka_unit_test_setup(cpus_have_other_numbers, set_up),
		cmocka_unit_test_setup(between_two_tasks, set_up),
		cmocka_unit_test_setup(full_queue, set_up),
		cmocka_unit_test_setup(other_captures, set_up),
		cmocka_unit_test_setup(copies_tell_threads, set_up_copy),
		cmocka_unit_test_setup(copies_between_two_tasks, set_up_copy),
		cmocka_unit_test_setup(copies_of_who_has_ended, set_up_copy),
		cmocka_unit_test_setup(copies_that_do_not_agree, set_up_copy),
		cmocka_unit_test_setup(copies_where_sp_el0_agrees, set_up_copy),
		cmocka_unit_test_setup(copies_of_another_cpu_by_sp_el0, set_up_copy),
		cmocka_unit_test_setup(copies_with_old_roots, set_up_copy),
		cmocka_unit_test_setup(what_fits, set_up),
		cmocka_unit_test_setup(namespaces_and_cgroups, set_up),
		cmocka_unit_test_setup(cgroups_of_controllers, set_up),
		cmocka_unit_test_setup(unreadable, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
