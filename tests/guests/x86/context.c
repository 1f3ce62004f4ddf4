/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * context.c: the stack of a thread that has not run yet.
 */
#include "machine.h"

/* As switch_context() leaves it: r15 r14 r13 r12 rbx rbp, return address.  Where it
 * begins is not aligned if the guest was linked so: x86 does not ask for it. */
u64 new_context(u64 stack, void (*function)(void *), void *arg)
{
	extern char thread_entry[], stack_skew[];
	u64 *top = (u64 *)(stack - (u64)stack_skew);

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
