/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ends.c: five threads, none of which was called by anyone: own_stack() loads the stack
 * pointer itself and calls, jumped_thread() was jumped to with a stack of its own and
 * garbage above it, left_thread() the same by code that had called another function,
 * whose return address it finds for its own, first_thread() was returned to and has the
 * end of its stack's memory above it, entered_thread() was entered by an exception
 * return from a function that is over. Where a frame pointer begins is garbage too.
 */
#include "machine.h"
#include "truth.h"

#define FUNCTIONS(X)                                                                   \
	X(own_work)                                                                    \
	X(jumped_work) X(left_work) X(first_work) X(entered_work) X(entered_thread)
TRUTH_FUNCTIONS(FUNCTIONS);

#define SWITCHES "    next_thread\n      switch_context\n"

static const char tree[] = "own_stack\n"
			   "  own_thread\n"
			   "    own_work\n" SWITCHES "jumped_thread\n"
			   "  jumped_work\n"
			   "  next_thread\n"
			   "    switch_context\n"
			   "left_thread\n"
			   "  left_work\n"
			   "  next_thread\n"
			   "    switch_context\n"
			   "first_thread\n"
			   "  first_work\n"
			   "  next_thread\n"
			   "    switch_context\n"
			   "entered_thread\n"
			   "  entered_work\n"
			   "  next_thread\n"
			   "    switch_context\n"
			   "  report\n"
			   "    print_truth\n"
			   "      serial_write\n"
			   "    print_beat\n"
			   "      serial_write\n";

enum { OWN, JUMPED, LEFT, FIRST, ENTERED, N_THREADS };

static struct vcpu {
	struct truth truth;
	u64 sp[N_THREADS], at;
} vcpus[MAX_VCPUS];
static u64 unit;

/* ends.S; they are returned to by switch_context(). */
void own_stack(void); /* loads the stack pointer, calls own_thread() */
void own_jump(void);  /* loads the stack pointer, jumps to jumped_thread() */
void own_left(void);  /* calls another function in between; to left_thread() */
NORETURN void exception_return(void (*to)(void)); /* on the same stack */
u64 context(u64 stack, void (*entry)(void), u64 own_stack, u64 garbage);

/* A thread is given nothing: whose stack it is on says which vCPU it is. */
HIDDEN struct vcpu *me(void)
{
	u64 here;

	__asm__ volatile("" : "=m"(here));
	return &vcpus[((u64)&here - stack_area) >> STACK_VCPU_SHIFT];
}

HIDDEN void spin(u64 iterations)
{
	u64 x = iterations;

	for (u64 i = 0; i < iterations; i++)
		keep(x = x * 3 + i);
}

VISIBLE void own_work(u64 n)
{
	WITH_FRAME();
	spin(n);
}

VISIBLE void jumped_work(u64 n)
{
	WITH_FRAME();
	spin(n);
}

VISIBLE void left_work(u64 n)
{
	WITH_FRAME();
	spin(n);
}

VISIBLE void first_work(u64 n)
{
	WITH_FRAME();
	spin(n);
}

VISIBLE void entered_work(u64 n)
{
	WITH_FRAME();
	spin(n);
}

VISIBLE void next_thread(struct vcpu *v)
{
	u64 from = v->at;

	v->at = (from + 1) % N_THREADS;
	switch_context(&v->sp[from], v->sp[v->at]);
}

VISIBLE void own_thread(void)
{
	struct vcpu *v = me();

	for (;;) {
		truth_call(&v->truth, IN(own_work));
		own_work(unit);
		next_thread(v);
	}
}

VISIBLE void jumped_thread(void)
{
	struct vcpu *v = me();

	for (;;) {
		truth_call(&v->truth, IN(jumped_work));
		jumped_work(unit);
		next_thread(v);
	}
}

VISIBLE void left_thread(void)
{
	struct vcpu *v = me();

	for (;;) {
		truth_call(&v->truth, IN(left_work));
		left_work(unit);
		next_thread(v);
	}
}

VISIBLE void first_thread(void)
{
	struct vcpu *v = me();

	for (;;) {
		truth_call(&v->truth, IN(first_work));
		first_work(unit);
		next_thread(v);
	}
}

VISIBLE void entered_thread(void)
{
	struct vcpu *v = me();

	for (;;) {
		truth_call(&v->truth, IN(entered_work));
		entered_work(unit);
		truth_call(&v->truth, IN(entered_thread));
		report(&v->truth);
		next_thread(v);
	}
}

/* Over as soon as it has begun. */
VISIBLE void ended_thread(void)
{
	exception_return(entered_thread);
}

void guest_setup(void)
{
	print_tree(tree);
	unit = measure_iterations(100000, 1000);
}

NORETURN void kmain(u32 vcpu)
{
	struct vcpu *v = &vcpus[vcpu];
	u64 boot_sp, garbage = (u64)v;
	/* Two of them share a slot. */
	u64 own = stack_top(vcpu, 1), jumped = stack_top(vcpu, 2), middle = 0x1000;

	v->sp[OWN] = context(own - 2 * middle, own_stack, own - 64, garbage);
	v->sp[JUMPED] = context(jumped - 2 * middle, own_jump, jumped - 64, garbage);
	*(u64 *)(jumped - 64) = garbage;
	/* Where own_stack() is on no more. */
	v->sp[LEFT] = context(own - 3 * middle, own_left, own - 2 * middle - 64,
			      garbage);
	v->sp[FIRST] = context(stack_top(vcpu, 3), first_thread, 0, garbage);
	v->sp[ENTERED] = context(stack_top(vcpu, 3) - 2 * middle, ended_thread, 0,
				 garbage);
	truth_init(&v->truth, vcpu, truth_names);
	v->at = OWN;
	switch_context(&boot_sp, v->sp[OWN]);
	__builtin_unreachable();
}
