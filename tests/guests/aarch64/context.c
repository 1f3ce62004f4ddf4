/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * context.c: the stack of a thread that has not run yet.
 */
#include "machine.h"

/* As switch_context() leaves it: x29, x30, x19 to x28. */
u64 new_context(u64 stack, void (*function)(void *), void *arg)
{
	extern char thread_entry[];
	u64 *saved = (u64 *)stack - 12;

	saved[0] = 0;
	saved[1] = (u64)thread_entry;
	saved[2] = (u64)function;
	saved[3] = (u64)arg;
	return (u64)saved;
}
