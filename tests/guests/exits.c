/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exits.c: each function leaves the guest for one reason alone: ask_device for port
 * I/O (for a device's memory, where there are no ports), nap to halt, and compute for
 * none.
 */
#include "machine.h"
#include "truth.h"
#include "uart.h"

#define ROUNDS_HZ 40 /* so many rounds a second, if nothing else ran */

#define FUNCTIONS(X) X(main_loop) X(compute) X(ask_device)
TRUTH_FUNCTIONS(FUNCTIONS);

static const char tree[] =
	"start_vcpu\n"
	"  kmain\n"
	"    main_loop\n"
	"      compute\n"
	"      ask_device\n"
	"      nap\n"
	"        timer_start\n" TREE_TIMER("        ") "        timer_stop\n"
						       "      report\n"
						       "        print_truth\n"
						       "          serial_write\n"
						       "        print_beat\n"
						       "          serial_write\n";

static struct truth truths[MAX_VCPUS];
static u64 unit;

VISIBLE void compute(u64 n)
{
	u64 x = n;

	WITH_FRAME();
	for (u64 i = 0; i < n; i++)
		keep(x = x * 3 + i);
}

/* For about so long as compute() takes. */
VISIBLE void ask_device(u64 until)
{
	WITH_FRAME();
	do
		uart_touch();
	while (read_tsc() < until);
}

VISIBLE void nap(void)
{
	timer_start(tsc_second / ROUNDS_HZ / 4, TIMER_ONCE);
	halt_until_interrupt();
	timer_stop();
}

VISIBLE NORETURN void main_loop(struct truth *t)
{
	for (;;) {
		truth_call(t, IN(compute));
		compute(unit);
		truth_call(t, IN(ask_device));
		ask_device(t->last + tsc_second / ROUNDS_HZ / 2);
		truth_call(t, IN_idle);
		nap();
		truth_enter(t, IN(main_loop));
		t->function[IN(main_loop)].calls++;
		report(t);
	}
}

void guest_setup(void)
{
	print_tree(tree);
	unit = measure_iterations(ROUNDS_HZ * 4, 100);
}

NORETURN void kmain(u32 vcpu)
{
	struct truth *t = &truths[vcpu];

	truth_init(t, vcpu, truth_names);
	t->current = IN(main_loop);
	main_loop(t);
}
