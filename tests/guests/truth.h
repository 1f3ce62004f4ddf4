/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * truth.h: a guest measures itself, and says on the serial port what a profile of it
 * has to show.
 *
 * A stopwatch per vCPU: at each moment exactly one function is running, and
 * truth_enter() switches to another; the ticks of all functions and of idle add up
 * to the whole.  A switch costs one rdtsc, so it belongs around stages of at least
 * some 20,000 instructions; what is shorter counts for the function around it.
 */
#ifndef GUEST_TRUTH_H
#define GUEST_TRUTH_H

#include "cpu.h"

#define TRUTH_MAX_FUNCTIONS 24
#define TRUTH_IDLE	    0 /* index of the time in hlt */

struct truth_function {
	const char *name;
	u64 calls;
	u64 self; /* ticks; those in which the host ran something else are among them */
	bool with_callees; /* self means it and all that it calls */
	u64 best;	   /* the shortest stretch: calls * best leaves these out */
};

struct truth {
	u32 vcpu;
	u32 n;
	u32 current; /* index of the function that is running */
	u64 seq;
	u64 start, last; /* tsc */
	u64 next_truth, next_beat;
	struct truth_function function[TRUTH_MAX_FUNCTIONS];
};

/* A guest lists its functions once:  #define FUNCTIONS(X) X(main_loop) X(f60) ...
 * IN(f60) is the index of f60.  The functions that print the truth come first. */
#define TRUTH_OWN_FUNCTIONS(X) X(report) X(print_truth) X(print_beat) X(serial_write)
#define IN_(name)	       IN_##name
#define IN(name)	       IN_(name)
#define TRUTH_INDEX_(name)     IN(name),
#define TRUTH_STRING_(name)    #name,
#define TRUTH_NAME_(name)      TRUTH_STRING_(name)
enum truth_own {
	IN_idle,
	TRUTH_OWN_FUNCTIONS(TRUTH_INDEX_) IN_guest_functions,
	IN_before_guest = IN_guest_functions - 1,
};
#define TRUTH_FUNCTIONS(FUNCTIONS)                                                     \
	enum truth_guest {                                                             \
		IN_last = IN_before_guest,                                             \
		FUNCTIONS(TRUTH_INDEX_) IN_end                                         \
	};                                                                             \
	static const char *const truth_names[] = { FUNCTIONS(TRUTH_NAME_) NULL }

extern volatile u64 heartbeat;

void truth_init(struct truth *t, u32 vcpu, const char *const *names);

void truth_with_callees(struct truth *t, u32 function);

/* From now on this function is running; truth_call() counts a call of it as well. */
HIDDEN void truth_enter(struct truth *t, u32 function)
{
	struct truth_function *left = &t->function[t->current];
	u64 now = read_tsc(), ticks = now - t->last;

	left->self += ticks;
	if (ticks < left->best)
		left->best = ticks;
	t->last = now;
	t->current = function;
}

HIDDEN void truth_call(struct truth *t, u32 function)
{
	truth_enter(t, function);
	t->function[function].calls++;
}

HIDDEN void truth_count(struct truth *t, u32 function, u64 calls)
{
	t->function[function].calls += calls;
}

/* To be called in each round of the main loop: prints what is due. */
VISIBLE void report(struct truth *t);

/* Prints a TREE line for each node of the guest's call tree, which is given as text: a
 * function a line, behind its caller and two spaces further in. */
void print_tree(const char *tree);

/* Iterations of a loop of about 4 instructions that take 1 / fraction of a second on
 * this machine, but never less than min. */
u64 measure_iterations(u32 fraction, u64 min);

#endif
