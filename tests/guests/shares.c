/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares.c: three functions with the same loop that take 60, 30 and 10 % of the time.
 */
#include "machine.h"
#include "truth.h"

#define FUNCTIONS(X) X(main_loop) X(stage) X(f60) X(f30) X(f10)
TRUTH_FUNCTIONS(FUNCTIONS);

static struct truth truths[MAX_VCPUS];
static u64 unit; /* iterations of f10's loop */

static const struct tree_node tree[] = {
	{ 0, "start_vcpu" },   { 1, "kmain" },	    { 2, "main_loop" },
	{ 3, "stage" },	       { 4, "f60" },	    { 4, "f30" },
	{ 4, "f10" },	       { 3, "report" },	    { 4, "print_truth" },
	{ 5, "serial_write" }, { 4, "print_beat" }, { 5, "serial_write" },
};

HIDDEN void spin(u64 iterations)
{
	u64 x = iterations;

	for (u64 i = 0; i < iterations; i++)
		keep(x = x * 3 + i);
}

VISIBLE void f60(u64 n)
{
	spin(6 * n);
}

VISIBLE void f30(u64 n)
{
	spin(3 * n);
}

VISIBLE void f10(u64 n)
{
	spin(n);
}

VISIBLE void stage(struct truth *t, u64 n)
{
	t->function[IN(stage)].calls++;
	truth_call(t, IN(f60));
	f60(n);
	truth_call(t, IN(f30));
	f30(n);
	truth_call(t, IN(f10));
	f10(n);
	truth_enter(t, IN(main_loop));
}

VISIBLE NORETURN void main_loop(struct truth *t)
{
	for (;;) {
		t->function[IN(main_loop)].calls++;
		stage(t, unit);
		report(t);
	}
}

void guest_setup(void)
{
	print_tree(tree, ARRAY_LEN(tree));
	unit = measure_iterations(10000, 2500);
}

NORETURN void kmain(u32 vcpu)
{
	struct truth *t = &truths[vcpu];

	truth_init(t, vcpu, truth_names);
	t->current = IN(main_loop);
	main_loop(t);
}
