/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patches.c: a guest that changes its own code, of functions that it has called and
 * calls again: where a call leads (patches.S), and a function's first instruction.
 */
#include "machine.h"
#include "patch.h"
#include "truth.h"

#define FUNCTIONS(X)                                                                   \
	X(main_loop) X(stage) X(still) X(patched) X(swapped) X(patch_a) X(patch_b)
TRUTH_FUNCTIONS(FUNCTIONS);

#define CALLS 200 /* a stage */
#define EVERY 10  /* of these after a change */

static const char tree[] = "start_vcpu\n"
			   "  kmain\n"
			   "    main_loop\n"
			   "      stage\n"
			   "        patched\n"
			   "          patch_a\n"
			   "          patch_b\n"
			   "        swapped\n"
			   "          patch_b\n"
			   "      still\n"
			   "      report\n"
			   "        print_truth\n"
			   "          serial_write\n"
			   "        print_beat\n"
			   "          serial_write\n";

static struct truth truths[MAX_VCPUS];
static u64 unit;
void patched(void);
void swapped(void);
void patch_a(void);
void patch_b(void);

static void count(u32 function)
{
	truths[0].function[function].calls++;
}

VISIBLE void patch_a(void)
{
	count(IN(patch_a));
}

VISIBLE void patch_b(void)
{
	count(IN(patch_b));
}

static void change(bool to_b)
{
	char *call = (char *)patched + PATCHED_CALL, *first = (char *)swapped;

	/* Else the compiler knows that no data are there. */
	__asm__("" : "+r"(call), "+r"(first));
	patch_call(call, to_b ? patch_b : patch_a);
	patch_first(first, to_b);
}

VISIBLE void stage(void)
{
	count(IN(stage));
	for (u32 i = 0; i < CALLS; i++) {
		if (i % EVERY == 0)
			change(i / EVERY % 2);
		count(IN(patched));
		patched();
		count(IN(swapped));
		swapped();
	}
}

/* For vCPUs that leave the code alone. */
VISIBLE void still(struct truth *t)
{
	t->function[IN(still)].calls++;
	for (u32 i = 0; i < unit; i++)
		keep(i);
}

VISIBLE NORETURN void main_loop(struct truth *t)
{
	for (;;) {
		if (t->vcpu)
			still(t);
		else
			stage();
		truth_enter(t, IN(main_loop));
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
