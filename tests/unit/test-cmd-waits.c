/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at tasks that wait: one that has not run is not read again, one that has is. */
#include "unit.h"

#include "base/clock.h"
#include "cmd/record/waits.h"
#include "linux-tasks.h"

#include <unistd.h>

#define STEP	0x8000U /* from one task to the next; its stack is behind it */
#define N_TASKS 200U
#define PC	0xffffffff81001234
#define A_FEW	16U /* reads */

static uint8_t memory[N_TASKS * STEP];
static unsigned n_read;
static struct us_mem mem;
static struct us_linux kernel;
static struct us_images images;
static struct us_programs programs;
static struct us_waits waits;

static us_gva task(unsigned n)
{
	return TEST_TASKS + n * STEP;
}

static void put(us_gva at, uint64_t v, size_t n)
{
	memcpy(memory + (at - TEST_TASKS), &v, n);
}

static bool read_memory(void *ctx, us_gpa at, void *buf, size_t len)
{
	(void)ctx;
	n_read++;
	if (at < TEST_TASKS || at - TEST_TASKS + len > sizeof(memory))
		return false;
	memcpy(buf, memory + (at - TEST_TASKS), len);
	return true;
}

/* It sleeps, and has been on its CPU so often. */
static void put_task(unsigned n)
{
	const struct us_linux_tasks_layout *l = &kernel.tasks;
	us_gva sp = task(n) + STEP - 0x1000, next = task((n + 1) % N_TASKS) + l->tasks;
	put(task(n) + l->tasks, next, 8);
	put(next + 8, task(n) + l->tasks, 8);
	put(task(n) + l->pid, n, 4);
	put(task(n) + l->tgid, n, 4);
	put(task(n) + l->state, 1, 4);
	put(task(n) + l->stack, task(n) + STEP - l->stack_size, 8);
	put(task(n) + l->sp, sp, 8);
	put(task(n) + l->switches[0], n, 8);
	put(sp + l->pc, PC + n, 8);
}

static int set_up(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	memset(&mem, 0, sizeof(mem));
	mem.read = read_memory;
	us_mem_init(&mem);
	kernel = (struct us_linux){ .tasks = test_tasks_layout, .has_tasks = true };
	kernel.space.mode = US_PAGING_OFF;
	kernel.tasks.switches[0] = 144;
	kernel.tasks.switches[1] = 152;
	kernel.tasks.span = 160 - kernel.tasks.first;
	kernel.tasks.has_switches = kernel.tasks.lists_switches = true;
	for (unsigned n = 0; n < N_TASKS; n++)
		put_task(n);
	memset(&images, 0, sizeof(images));
	us_programs_init(&programs);
	us_waits_init(&waits);
	us_waits_want(&waits, US_WAITS_MOST_HZ, 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	us_waits_fini(&waits);
	us_programs_fini(&programs);
	return 0;
}

/* One more, when it is due: all that wait were taken.  What was read for it. */
static unsigned look(void)
{
	struct us_wait_stats before, after;
	us_waits_stats(&waits, &before);
	n_read = 0;
	for (unsigned k = 0; k < 60000; k++) {
		us_waits_look(&waits, &kernel, &images, &programs, &mem, 1);
		us_waits_stats(&waits, &after);
		if (after.looks > before.looks)
			break;
		usleep(1000);
	}
	assert_int_equal(after.looks, before.looks + 1);
	assert_int_equal(after.taken, before.taken + N_TASKS - 1); /* not init_task */
	return n_read;
}

/* Of the look before, that of each task. */
static void check_stacks(void)
{
	size_t first = waits.queue.waits.n - (N_TASKS - 1);
	for (unsigned n = 1; n < N_TASKS; n++) {
		const struct us_waits_one *one = &waits.queue.waits.v[first + n - 1];
		assert_true(one->n > 0 && waits.queue.pc.v[one->first] == PC + n);
	}
}

/* The list has each task in one read. */
static void not_run(void **state)
{
	(void)state;
	assert_true(look() > 2 * N_TASKS);
	check_stacks();
	for (unsigned k = 0; k < 3; k++) {
		assert_true(look() < N_TASKS + A_FEW);
		check_stacks();
		/* The sampler has other programs' rules. */
		images.changes += 2;
	}
}

static void one_has_run(void **state)
{
	(void)state;
	look();
	put(task(7) + kernel.tasks.switches[1], 1, 8);
	put(task(7) + STEP - 0x1000 + kernel.tasks.pc, PC + 7 * 16, 8);
	assert_in_range(look(), 0, N_TASKS + 4 * A_FEW);
	put(task(7) + STEP - 0x1000 + kernel.tasks.pc, PC + 7, 8);
	look(); /* it has not run, they say: as it was */
	size_t n = waits.queue.waits.n;
	const struct us_waits_one *one = &waits.queue.waits.v[n - N_TASKS + 7];
	assert_int_equal(waits.queue.pc.v[one->first], PC + 7 * 16);
}

/* Where the list does not say it, each is asked. */
static void asked(void **state)
{
	(void)state;
	kernel.tasks.lists_switches = false;
	look();
	unsigned n = look();
	assert_true(n > 2 * (N_TASKS - 1) && n < 2 * N_TASKS + A_FEW);
	check_stacks();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(not_run, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_has_run, set_up, tear_down),
		cmocka_unit_test_setup_teardown(asked, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
