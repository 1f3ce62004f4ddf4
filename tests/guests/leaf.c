/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leaf.c: very short functions without frames, called all the time.
 *
 * gcc gives a leaf no frame even with -fno-omit-frame-pointer, so rbp is its caller's,
 * and the caller itself is found only through the word at rsp.  No counter can be read
 * within a leaf: a stage's time is that of the stage and its leaf.
 */
#include "machine.h"
#include "truth.h"

#define FUNCTIONS(X) X(main_loop) X(stage_tiny) X(stage_pushing) X(stage_long)
TRUTH_FUNCTIONS(FUNCTIONS);

static const char tree[] = "start_vcpu\n"
			   "  kmain\n"
			   "    main_loop\n"
			   "      stage_tiny\n"
			   "        leaf_tiny\n"
			   "      stage_pushing\n"
			   "        leaf_pushing\n"
			   "      stage_long\n"
			   "        leaf_long\n"
			   "      report\n"
			   "        print_truth\n"
			   "          serial_write\n"
			   "        print_beat\n"
			   "          serial_write\n";

static struct truth truths[MAX_VCPUS];
static u64 unit;

static VISIBLE u64 leaf_tiny(u64 x)
{
	return x * 3 + 1;
}

/* Keeps values on the stack, so that the return address is not at rsp. */
static VISIBLE u64 leaf_pushing(u64 x)
{
	register u64 saved __asm__(SAVED_REGISTER) = x;
	volatile u64 local[4];

	__asm__ volatile("" : "+r"(saved));
	local[saved & 3] = x;
	local[x >> 5 & 3] = saved;
	return local[saved & 3] + saved;
}

static VISIBLE u64 leaf_long(u64 x)
{
	for (u32 i = 0; i < 64; i++)
		keep(x = x * 3 + i);
	return x;
}

static VISIBLE void stage_tiny(u64 n)
{
	for (u64 i = 0; i < n; i++)
		keep(leaf_tiny(i));
}

static VISIBLE void stage_pushing(u64 n)
{
	for (u64 i = 0; i < n; i++)
		keep(leaf_pushing(i));
}

static VISIBLE void stage_long(u64 n)
{
	for (u64 i = 0; i < n; i++)
		keep(leaf_long(i));
}

VISIBLE NORETURN void main_loop(struct truth *t)
{
	for (;;) {
		truth_call(t, IN(stage_tiny));
		stage_tiny(unit);
		truth_call(t, IN(stage_pushing));
		stage_pushing(unit / 2);
		truth_call(t, IN(stage_long));
		stage_long(unit / 64);
		truth_enter(t, IN(main_loop));
		t->function[IN(main_loop)].calls++;
		report(t);
	}
}

void guest_setup(void)
{
	print_tree(tree);
	unit = measure_iterations(10000, 2500);
}

NORETURN void kmain(u32 vcpu)
{
	struct truth *t = &truths[vcpu];

	truth_init(t, vcpu, truth_names);
	truth_with_callees(t, IN(stage_tiny));
	truth_with_callees(t, IN(stage_pushing));
	truth_with_callees(t, IN(stage_long));
	t->current = IN(main_loop);
	main_loop(t);
}
