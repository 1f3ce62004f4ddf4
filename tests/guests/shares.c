/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares.c: three functions with the same loop that take 60, 30 and 10 % of the time.
 */
#include "machine.h"
#include "truth.h"

#define FUNCTIONS(X) X(main_loop) X(stage) X(f60) X(f30) X(f10)
TRUTH_FUNCTIONS(FUNCTIONS);

static struct truth truths[MAX_VCPUS];
#ifdef QUICK
#define LEAST 25 /* a cycle of a millisecond, too, where KVM emulates its guests */
#else
#define LEAST 2500
#endif
#ifndef PARTS
#define PARTS 10000 /* of a second: one is a call of f10 */
#endif
#ifndef CALLS
#define CALLS 1 /* of each in a row: a round takes ten times as many parts */
#endif
static u64 unit; /* iterations of f10's loop */

#ifdef LONG_ROUNDS
HIDDEN u64 lot(void)
{
	static u64 x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 16;
}

/* The truth of parts of a round, at distances that tell one part from another. */
HIDDEN void report_part(struct truth *t)
{
	u64 due = t->next_truth;

	report(t);
	if (t->next_truth != due)
		t->next_truth += lot() % (tsc_second / 2);
}
#define REPORT(t) report_part(t)
#else
#define REPORT(t)
#endif

/* How often a function is called in a row. */
HIDDEN u32 calls(void)
{
#ifdef BURSTS /* CALLS in the mean */
	return 1 + (u32)(lot() % (2 * CALLS - 1));
#else
	return CALLS;
#endif
}

static const char tree[] = "start_vcpu\n"
			   "  kmain\n"
			   "    main_loop\n"
			   "      stage\n"
			   "        f60\n"
			   "        f30\n"
			   "        f10\n"
			   "      report\n"
			   "        print_truth\n"
			   "          serial_write\n"
			   "        print_beat\n"
			   "          serial_write\n";

#ifdef ONE_LOOP
/* Where a loop lies decides how fast it is, and how much that changes with what the
 * processor does besides: so one, which all call, takes as long as it has to do. */
#define LOOP VISIBLE
#else
#define LOOP HIDDEN
#endif
LOOP void spin(u64 iterations)
{
	u64 x = iterations;

	for (u64 i = 0; i < iterations; i++)
		keep(x = x * 3 + i);
}

VISIBLE void f60(u64 n)
{
	WITH_FRAME();
	spin(6 * n);
}

VISIBLE void f30(u64 n)
{
	WITH_FRAME();
	spin(3 * n);
}

VISIBLE void f10(u64 n)
{
	WITH_FRAME();
	spin(n);
}

/* A macro: stage() itself has to be their caller. */
#define CALL(f)                                                                        \
	for (u32 i = 0, n_calls = calls(); i < n_calls; i++) {                         \
		truth_call(t, IN(f));                                                  \
		f(n);                                                                  \
		REPORT(t);                                                             \
	}

VISIBLE void stage(struct truth *t, u64 n)
{
	t->function[IN(stage)].calls++;
	CALL(f60);
	CALL(f30);
	CALL(f10);
	truth_enter(t, IN(main_loop));
}

#ifdef SLIDES
bool guest_slides(void)
{
	return true;
}
#endif

/* As a boot loader that copies itself away: once, after two seconds.  What was there
 * stays as it is. */
HIDDEN void move(struct truth *t)
{
#ifdef MOVES
	if (t->vcpu || image_slide || t->last - t->start < 2 * tsc_second)
		return;
	slide_image();
	go_to_slide();
	interrupts_init();
	start_vcpu(0);
#else
	(void)t;
#endif
}

VISIBLE NORETURN void main_loop(struct truth *t)
{
	for (;;) {
		t->function[IN(main_loop)].calls++;
		stage(t, unit);
		report(t);
		move(t);
	}
}

void guest_setup(void)
{
	print_tree(tree);
	unit = measure_iterations(PARTS, LEAST);
}

NORETURN void kmain(u32 vcpu)
{
	struct truth *t = &truths[vcpu];

	truth_init(t, vcpu, truth_names);
	t->current = IN(main_loop);
	main_loop(t);
}
