/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counted.c: a guest that counts each call of its functions itself, to be compared with
 * what is counted from outside: recursion, calls by pointer, tail calls, threads that
 * change places, jumps out of a call, tables of jumps, on x86-64 exceptions as OCaml
 * has them, while a timer interrupts it 1000 times a second.  All vCPUs do it at once,
 * and count together.
 *
 * Prints "COUNTS {...}" when all have done, and stands still.  In hot there are as
 * many instructions a call as tests/conformance/tcg.py says, in top_loop so many a
 * round and one more a call.
 */
#include "scheduler.h"
#include "text.h"
#include "ticks.h"
#include "truth.h"

#define TICK_HZ	   1000
#define MOST_WAITS 1000000000
#ifndef ROUNDS
#define ROUNDS 20
#endif
#define FIB	   20
#define HOT_CALLS  50000
#define PING_TIMES 1000
#define DEEP	   7
#define PLACE	   14 /* what a jump back needs */

#define CALLED(X)                                                                      \
	X(fib) X(hot) X(deep) X(by_1) X(by_2) X(work) X(array) X(table) X(where)
#define THREADS(X) X(ping) X(pong) X(moves_stack) X(set_place) X(go_to_place)
#define JUMPED(X)  X(tail1) X(tail2) X(fall1) X(fall2) X(push_ret) X(pushed)
#define OTHERS(X)  X(tick_entry) X(common_entry) X(tick) X(top_loop) X(top_loop_rounds)
#ifdef TABLE /* of interrupt stubs, which a trap enters, too */
#define TRAPS(X) X(trap) X(trapped)
#else
#define TRAPS(X)
#endif
#ifdef __x86_64__
#define THROWN(X) X(tries) X(throws) X(raises)
#else
#define THROWN(X)
#endif
#define COUNTED(X) CALLED(X) THREADS(X) JUMPED(X) THROWN(X) OTHERS(X) TRAPS(X)

#define DEFINE(name) u64 counts_##name;
COUNTED(DEFINE)

void hot(void);
void tail1(void);
void fall1(void);
void push_ret(void);
void top_loop(u32 rounds);
void table(u32 which);
void where(void);
void moves_stack(void);
int set_place(u64 place[PLACE]) __attribute__((returns_twice));
void go_to_place(const u64 place[PLACE]);
void tick(void);

static struct vcpu {
	struct scheduler scheduler;
	bool pong_done;
	u64 place[PLACE];
} vcpus[MAX_VCPUS];
static u32 n_done;

HIDDEN void count(u64 *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}
#define COUNT(name) count(&counts_##name)

VISIBLE u64 fib(u32 n)
{
	COUNT(fib);
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

VISIBLE void tick(void)
{
	COUNT(tick);
	tick_done();
}

#ifdef TABLE
void trap(void);

VISIBLE void trapped(void)
{
	COUNT(trapped);
}
#else
HIDDEN void trap(void)
{
}
#endif

#ifdef __x86_64__
void tries(void);
#else
HIDDEN void tries(void)
{
}
#endif

VISIBLE void by_1(void)
{
	COUNT(by_1);
	hot();
}

VISIBLE void by_2(void)
{
	COUNT(by_2);
	tail1();
	keep(1);
}

VISIBLE void deep(struct vcpu *v, u32 left)
{
	COUNT(deep);
	if (!left)
		go_to_place(v->place);
	else
		deep(v, left - 1);
	keep(left);
}

VISIBLE void array(u32 n)
{
	volatile u8 bytes[n];

	COUNT(array);
	bytes[n - 1] = 1;
	hot();
	keep(bytes[n - 1]);
}

VISIBLE void work(struct vcpu *v, u32 round)
{
	void (*const by[])(void) = { by_1, by_2, hot, where };

	COUNT(work);
	keep(fib(FIB));
	for (u32 i = 0; i < HOT_CALLS; i++)
		hot();
	for (u32 i = 0; i < 1000; i++) {
		by[(i + round) % ARRAY_LEN(by)]();
		table(i % 4);
	}
	for (u32 i = 0; i < 200; i++) {
		tail1();
		fall1();
		push_ret();
		tries();
		where();
		moves_stack();
		trap();
		array(16 + i);
		COUNT(top_loop);
		top_loop(i + 1);
		if (!set_place(v->place))
			deep(v, i % DEEP);
	}
}

VISIBLE void ping(struct vcpu *v)
{
	COUNT(ping);
	yield(&v->scheduler);
}

VISIBLE void pong(struct vcpu *v)
{
	COUNT(pong);
	yield(&v->scheduler);
}

static void add_count(struct text *t, const char *name, u64 value)
{
	text_string(t, t->data[t->len - 1] == '{' ? "\"" : ",\"");
	text_string(t, name);
	text_string(t, "\":");
	text_number(t, value);
}

static void print_counts(void)
{
	static struct text line;

	text_string(&line, "COUNTS {");
#define ADD(name) add_count(&line, #name, counts_##name);
	COUNTED(ADD)
	text_string(&line, "}");
	text_char(&line, 0);
	print_line(line.data);
}

static void ping_thread(void *arg)
{
	struct vcpu *v = arg;

	ticks_begin(TICK_HZ);
	for (u32 round = 0; round < ROUNDS; round++) {
		work(v, round);
		for (u32 i = 0; i < PING_TIMES; i++)
			ping(v);
	}
	/* A short run on a busy host may be over before the first tick. */
	for (u64 i = 0;
	     i < MOST_WAITS && !__atomic_load_n(&counts_tick, __ATOMIC_RELAXED); i++)
		continue;
	ticks_end();
	if (__atomic_add_fetch(&n_done, 1, __ATOMIC_SEQ_CST) == vcpu_count)
		print_counts();
	stand_still();
}

static void pong_thread(void *arg)
{
	struct vcpu *v = arg;

	for (;;)
		pong(v);
}

void guest_setup(void)
{
}

NORETURN void kmain(u32 vcpu)
{
	struct vcpu *v = &vcpus[vcpu];

	scheduler_init(&v->scheduler, vcpu);
	thread_start(&v->scheduler, ping_thread, v);
	thread_start(&v->scheduler, pong_thread, v);
	scheduler_run(&v->scheduler);
}
