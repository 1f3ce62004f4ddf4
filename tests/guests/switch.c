/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switch.c: three threads that change places all the time, each on a stack of its own;
 * red works three times, green twice as long as blue.
 */
#include "machine.h"
#include "scheduler.h"
#include "truth.h"

#define FUNCTIONS(X) X(red_work) X(green_work) X(blue_work) X(blue_thread)
TRUTH_FUNCTIONS(FUNCTIONS);

static const char tree[] = "thread_entry\n"
			   "  red_thread\n"
			   "    red_work\n"
			   "    yield\n"
			   "      switch_context\n"
			   "  green_thread\n"
			   "    green_work\n"
			   "    yield\n"
			   "      switch_context\n"
			   "  blue_thread\n"
			   "    blue_work\n"
			   "    yield\n"
			   "      switch_context\n"
			   "    report\n"
			   "      print_truth\n"
			   "        serial_write\n"
			   "      print_beat\n"
			   "        serial_write\n";

static struct vcpu {
	struct truth truth;
	struct scheduler scheduler;
} vcpus[MAX_VCPUS];
static u64 unit;

HIDDEN void spin(u64 iterations)
{
	u64 x = iterations;

	for (u64 i = 0; i < iterations; i++)
		keep(x = x * 3 + i);
}

VISIBLE void red_work(u64 n)
{
	WITH_FRAME();
	spin(3 * n);
}

VISIBLE void green_work(u64 n)
{
	WITH_FRAME();
	spin(2 * n);
}

VISIBLE void blue_work(u64 n)
{
	WITH_FRAME();
	spin(n);
}

VISIBLE void red_thread(void *arg)
{
	struct vcpu *v = arg;

	for (;;) {
		truth_call(&v->truth, IN(red_work));
		red_work(unit);
		yield(&v->scheduler);
	}
}

VISIBLE void green_thread(void *arg)
{
	struct vcpu *v = arg;

	for (;;) {
		truth_call(&v->truth, IN(green_work));
		green_work(unit);
		yield(&v->scheduler);
	}
}

VISIBLE void blue_thread(void *arg)
{
	struct vcpu *v = arg;

	for (;;) {
		truth_call(&v->truth, IN(blue_work));
		blue_work(unit);
		truth_call(&v->truth, IN(blue_thread));
		report(&v->truth);
		yield(&v->scheduler);
	}
}

void guest_setup(void)
{
	print_tree(tree);
	unit = measure_iterations(100000, 1000);
}

NORETURN void kmain(u32 vcpu)
{
	struct vcpu *v = &vcpus[vcpu];

	scheduler_init(&v->scheduler, vcpu);
	thread_start(&v->scheduler, red_thread, v);
	thread_start(&v->scheduler, green_thread, v);
	thread_start(&v->scheduler, blue_thread, v);
	truth_init(&v->truth, vcpu, truth_names);
	scheduler_run(&v->scheduler);
}
