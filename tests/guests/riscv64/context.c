/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * context.c: the stack of a thread that has not run yet.
 */
#include "machine.h"

/* As switch_context() leaves it: from the top, ra, s0, s1 to s11, and a word for
 * alignment. */
u64 new_context(u64 stack, void (*function)(void *), void *arg)
{
	extern char thread_entry[];
	u64 *top = (u64 *)stack;

	top[-1] = (u64)thread_entry;
	top[-2] = 0;
	top[-3] = (u64)function;
	top[-4] = (u64)arg;
	return (u64)(top - 14);
}
