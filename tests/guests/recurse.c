/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recurse.c: a function that calls itself 100 deep and does its work at the bottom.
 */
#include "machine.h"
#include "truth.h"

#ifndef DEPTH
#define DEPTH 100
#endif

#define FUNCTIONS(X) X(main_loop) X(dive) X(bottom)
TRUTH_FUNCTIONS(FUNCTIONS);

static struct truth truths[MAX_VCPUS];
static u64 unit;

VISIBLE void bottom(struct truth *t)
{
	u64 x = unit;

	WITH_FRAME();
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

static char *add_node(char *to, u32 depth, const char *name)
{
	for (u32 i = 0; i < 2 * depth; i++)
		*to++ = ' ';
	while (*name)
		*to++ = *name++;
	*to++ = '\n';
	*to = 0;
	return to;
}

void guest_setup(void)
{
	static char tree[(DEPTH + 2) * (2 * DEPTH + 16)];
	char *to = tree;

	to = add_node(to, 0, "start_vcpu");
	to = add_node(to, 1, "kmain");
	to = add_node(to, 2, "main_loop");
	to = add_node(to, 3, "report");
	to = add_node(to, 4, "print_truth");
	to = add_node(to, 5, "serial_write");
	to = add_node(to, 4, "print_beat");
	to = add_node(to, 5, "serial_write");
	for (u32 depth = 1; depth <= DEPTH; depth++)
		to = add_node(to, 2 + depth, "dive");
	add_node(to, 3 + DEPTH, "bottom");
	print_tree(tree);
	unit = measure_iterations(10000, 2500);
}

NORETURN void kmain(u32 vcpu)
{
	struct truth *t = &truths[vcpu];

	truth_init(t, vcpu, truth_names);
	t->current = IN(main_loop);
	main_loop(t);
}
