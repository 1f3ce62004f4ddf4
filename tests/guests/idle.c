/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idle.c: halted, but for 3 % of the time: a timer ticks (20 times a second), and each
 * tick has a little work to do.
 */
#include "machine.h"
#include "truth.h"

#ifndef TICKS_HZ
#define TICKS_HZ 20
#endif
#define WORK_PERCENT 3

#define FUNCTIONS(X) X(main_loop) X(tick_work)
TRUTH_FUNCTIONS(FUNCTIONS);

static const char tree[] =
	"start_vcpu\n"
	"  kmain\n"
	"    main_loop\n"
	"      timer_start\n"
	"      tick_work\n"
	"      wait_for_tick\n" TREE_TIMER("        ") "      report\n"
						       "        print_truth\n"
						       "          serial_write\n"
						       "        print_beat\n"
						       "          serial_write\n";

static struct truth truths[MAX_VCPUS];
static u64 unit;

VISIBLE void tick_work(u64 n)
{
	u64 x = n;

	WITH_FRAME();
	for (u64 i = 0; i < n; i++)
		keep(x = x * 3 + i);
}

VISIBLE void wait_for_tick(void)
{
	WITH_FRAME();
	halt_until_interrupt();
}

VISIBLE NORETURN void main_loop(struct truth *t)
{
	timer_start(tsc_second / TICKS_HZ, TIMER_PERIODIC);
	for (;;) {
		truth_call(t, IN_idle);
		wait_for_tick();
		truth_call(t, IN(tick_work));
		tick_work(unit);
		truth_enter(t, IN(main_loop));
		t->function[IN(main_loop)].calls++;
		report(t);
	}
}

void guest_setup(void)
{
	print_tree(tree);
	unit = measure_iterations(TICKS_HZ * 100 / WORK_PERCENT, 100);
}

NORETURN void kmain(u32 vcpu)
{
	struct truth *t = &truths[vcpu];

	truth_init(t, vcpu, truth_names);
	t->current = IN(main_loop);
	main_loop(t);
}
