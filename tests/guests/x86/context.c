/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * context.c: the stack of a thread that has not run yet.
 */
#include "machine.h"

/* As switch_context() leaves it: r15 r14 r13 r12 rbx rbp, return address. */
u64 new_context(u64 stack, void (*function)(void *), void *arg)
{
	extern char thread_entry[];
	u64 *top = (u64 *)stack;

	*--top = 0; /* so that thread_entry's call is aligned as the ABI wants it */
	*--top = 0;
	*--top = (u64)thread_entry + image_slide;
	*--top = 0;
	*--top = 0;
	*--top = (u64)function + image_slide;
	*--top = (u64)arg;
	*--top = 0;
	*--top = 0;
	return (u64)top;
}
