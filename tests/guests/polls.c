/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * polls.c: three functions with the same loop that take 60, 30 and 10 % of the time;
 * one of them asks a device in between, again and again, for a small part of its time.
 */
#include "machine.h"
#include "truth.h"
#include "uart.h"

#define PIECE 1000 /* iterations between two questions */

#define FUNCTIONS(X) X(main_loop) X(f60) X(f30) X(polls)
TRUTH_FUNCTIONS(FUNCTIONS);

static struct truth truths[MAX_VCPUS];
static u64 unit; /* pieces in polls */

static const char tree[] = "start_vcpu\n"
			   "  kmain\n"
			   "    main_loop\n"
			   "      f60\n"
			   "      f30\n"
			   "      polls\n"
			   "        between\n"
			   "        ask_device\n"
			   "      report\n"
			   "        print_truth\n"
			   "          serial_write\n"
			   "        print_beat\n"
			   "          serial_write\n";

HIDDEN void spin(u64 iterations)
{
	u64 x = iterations;

	for (u64 i = 0; i < iterations; i++)
		keep(x = x * 3 + i);
}

VISIBLE void f60(u64 n)
{
	WITH_FRAME();
	spin(6 * n * PIECE);
}

VISIBLE void f30(u64 n)
{
	WITH_FRAME();
	spin(3 * n * PIECE);
}

VISIBLE void ask_device(void)
{
	WITH_FRAME();
	uart_touch();
}

VISIBLE void between(void)
{
	WITH_FRAME();
	spin(PIECE);
}

VISIBLE void polls(u64 n)
{
	for (u64 i = 0; i < n; i++) {
		between();
		ask_device();
	}
}

VISIBLE NORETURN void main_loop(struct truth *t)
{
	for (;;) {
		t->function[IN(main_loop)].calls++;
		truth_call(t, IN(f60));
		f60(unit);
		truth_call(t, IN(f30));
		f30(unit);
		truth_call(t, IN(polls));
		polls(unit);
		truth_enter(t, IN(main_loop));
		report(t);
	}
}

void guest_setup(void)
{
	print_tree(tree);
	unit = measure_iterations(1000, 2500) / PIECE;
	if (unit < 8)
		unit = 8;
}

NORETURN void kmain(u32 vcpu)
{
	struct truth *t = &truths[vcpu];

	truth_init(t, vcpu, truth_names);
	truth_with_callees(t, IN(polls));
	t->current = IN(main_loop);
	main_loop(t);
}
