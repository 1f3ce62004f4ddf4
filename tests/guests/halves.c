/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * halves.c: functions that push and pop two bytes at a time (x86/halves.S), and call
 * and work with a stack that is off a word by that.
 */
#include "machine.h"
#include "truth.h"

#define FUNCTIONS(X) X(main_loop) X(half_work)
TRUTH_FUNCTIONS(FUNCTIONS);

#define WORK(name) "      " name "\n        half_work\n"

static const char tree[] = "start_vcpu\n"
			   "  kmain\n"
			   "    main_loop\n"
			   "      report\n"
			   "        print_truth\n"
			   "          serial_write\n"
			   "        print_beat\n"
			   "          serial_write\n" WORK("push_halves")
				   WORK("push_framed") WORK("push_flags");

static struct truth truths[MAX_VCPUS];
static u64 unit;

/* They count to n, and call half_work(t). */
void push_halves(struct truth *t, unsigned long n);
void push_framed(struct truth *t, unsigned long n);
void push_flags(struct truth *t, unsigned long n);

void half_work(struct truth *t);
VISIBLE void half_work(struct truth *t)
{
	u64 x = unit;

	WITH_FRAME();
	truth_call(t, IN(half_work));
	for (u64 i = 0; i < unit; i++)
		keep(x = x * 3 + i);
	truth_enter(t, IN(main_loop));
}

VISIBLE NORETURN void main_loop(struct truth *t)
{
	for (;;) {
		push_halves(t, (unsigned long)unit);
		push_framed(t, (unsigned long)unit);
		push_flags(t, (unsigned long)unit);
		report(t);
	}
}

void guest_setup(void)
{
	print_tree(tree);
	unit = measure_iterations(10000, 1000);
}

NORETURN void kmain(u32 vcpu)
{
	struct truth *t = &truths[vcpu];

	truth_init(t, vcpu, truth_names);
	t->current = IN(main_loop);
	main_loop(t);
}
