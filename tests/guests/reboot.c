/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reboot.c: runs for two seconds, then resets the machine, again and again.
 */
#include "machine.h"
#include "reset.h"
#include "truth.h"

#define RUN_SECONDS 2

#define FUNCTIONS(X) X(main_loop) X(work)
TRUTH_FUNCTIONS(FUNCTIONS);

static const char tree[] = "start_vcpu\n"
			   "  kmain\n"
			   "    main_loop\n"
			   "      work\n"
			   "      reset_machine\n"
			   "        serial_write\n"
			   "      report\n"
			   "        print_truth\n"
			   "          serial_write\n"
			   "        print_beat\n"
			   "          serial_write\n";

static struct truth truths[MAX_VCPUS];
static u64 unit;

VISIBLE void work(u64 n)
{
	u64 x = n;

	for (u64 i = 0; i < n; i++)
		keep(x = x * 3 + i);
}

VISIBLE void reset_machine(void)
{
	serial_write("REBOOT\n", 7);
	reset_now();
}

VISIBLE NORETURN void main_loop(struct truth *t)
{
	for (;;) {
		t->function[IN(main_loop)].calls++;
		truth_call(t, IN(work));
		work(unit);
		truth_enter(t, IN(main_loop));
		report(t);
		if (t->vcpu == 0 && t->last - t->start > RUN_SECONDS * tsc_second)
			reset_machine();
	}
}

void guest_setup(void)
{
	print_tree(tree);
	unit = measure_iterations(1000, 2500);
}

NORETURN void kmain(u32 vcpu)
{
	struct truth *t = &truths[vcpu];

	truth_init(t, vcpu, truth_names);
	t->current = IN(main_loop);
	main_loop(t);
}
