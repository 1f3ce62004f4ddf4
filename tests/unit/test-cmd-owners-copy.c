/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose a sample is where the guest is not held: by a copy of its memory. */
#include "owners-guest.h"

#include <string.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(copies_tell_threads, set_up_copy),
		cmocka_unit_test_setup(copies_between_two_tasks, set_up_copy),
		cmocka_unit_test_setup(copies_of_who_has_ended, set_up_copy),
		cmocka_unit_test_setup(copies_that_do_not_agree, set_up_copy),
		cmocka_unit_test_setup(copies_where_sp_el0_agrees, set_up_copy),
		cmocka_unit_test_setup(copies_of_another_cpu_by_sp_el0, set_up_copy),
		cmocka_unit_test_setup(copies_with_old_roots, set_up_copy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
