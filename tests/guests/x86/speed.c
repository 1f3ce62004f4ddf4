/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speed.c: how fast a guest is while it is counted or traced: code with many calls, and
 * code with none, each measured by itself, in pieces of about a millisecond: the
 * shortest is one that nothing else on the host came into.
 *
 * Prints "SPEED {"mixed": ticks of the time-stamp counter, ...}" again and again.
 */
#include "text.h"
#include "truth.h"
#include "x86.h"

#define FIB    23
#define CALLS  20000
#define LOOPS  800000
#define PIECES 200

VISIBLE u32 fib(u32 n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

VISIBLE u32 step(u32 x)
{
	return x * 1664525 + 1013904223;
}

/* A call for about each 45 instructions. */
VISIBLE u32 some(u32 x)
{
	for (u32 i = 0; i < 8; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		keep(x);
	}
	return step(x);
}

VISIBLE u32 mixed(void)
{
	u32 x = 1;

	for (u32 i = 0; i < CALLS; i++)
		x = some(x);
	return x;
}

/* And for each 8. */
VISIBLE u32 tight(void)
{
	u32 x = 1;

	for (u32 i = 0; i < CALLS; i++)
		x = step(x);
	return x;
}

/* None. */
VISIBLE u32 compute(void)
{
	u32 x = 1;

	for (u32 i = 0; i < LOOPS; i++) {
		x = x * 5 + 1;
		keep(x);
	}
	return x;
}

VISIBLE u32 recursion(void)
{
	return fib(FIB);
}

static void measure(struct text *t, const char *name, u32 (*work)(void))
{
	u64 shortest = ~0UL;

	for (u32 i = 0; i < PIECES; i++) {
		u64 begin = read_tsc();

		keep(work());
		u64 took = read_tsc() - begin;
		if (took < shortest)
			shortest = took;
	}
	text_string(t, t->data[t->len - 1] == '{' ? "\"" : ",\"");
	text_string(t, name);
	text_string(t, "\":");
	text_number(t, shortest);
}

void guest_gates(void)
{
}

void guest_setup(void)
{
}

NORETURN void kmain(u32 vcpu)
{
	static struct text line;

	(void)vcpu;
	for (;;) {
		line.len = 0;
		text_string(&line, "SPEED {");
		measure(&line, "mixed", mixed);
		measure(&line, "recursion", recursion);
		measure(&line, "tight", tight);
		measure(&line, "compute", compute);
		text_string(&line, "}");
		text_char(&line, 0);
		print_line(line.data);
	}
}
