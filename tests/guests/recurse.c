/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recurse.c: a function that calls itself 100 deep and does its work at the bottom.
 */
#include "machine.h"
#include "truth.h"

#define DEPTH 100

#define FUNCTIONS(X) X(main_loop) X(dive) X(bottom)
TRUTH_FUNCTIONS(FUNCTIONS);

static struct truth truths[MAX_VCPUS];
static u64 unit;

VISIBLE void bottom(struct truth *t)
{
	u64 x = unit;

	truth_call(t, IN(bottom));
	for (u64 i = 0; i < unit * 8; i++)
		keep(x = x * 3 + i);
	truth_enter(t, IN(dive));
}

VISIBLE u32 dive(struct truth *t, u32 depth)
{
	if (depth == DEPTH)
		bottom(t);
	else
		depth = dive(t, depth + 1);
	keep(depth);
	return depth;
}

VISIBLE NORETURN void main_loop(struct truth *t)
{
	for (;;) {
		t->function[IN(main_loop)].calls++;
		truth_enter(t, IN(dive));
		dive(t, 1);
		truth_count(t, IN(dive), DEPTH);
		truth_enter(t, IN(main_loop));
		report(t);
	}
}

void guest_setup(void)
{
	static struct tree_node tree[DEPTH + 9] = {
		{ 0, "start_vcpu" }, { 1, "kmain" },	    { 2, "main_loop" },
		{ 3, "report" },     { 4, "print_truth" },  { 5, "serial_write" },
		{ 4, "print_beat" }, { 5, "serial_write" },
	};

	for (u32 depth = 1; depth <= DEPTH; depth++)
		tree[7 + depth] = (struct tree_node){ 2 + depth, "dive" };
	tree[8 + DEPTH] = (struct tree_node){ 3 + DEPTH, "bottom" };
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
