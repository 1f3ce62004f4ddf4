/* SPDX-License-Identifier: GPL-2.0-or-later */
/* patch.h: code that is written over, of x86.  What the processor executes is what was
 * written last. */
#ifndef GUEST_PATCH_H
#define GUEST_PATCH_H

#include "machine.h"

#define PATCHED_CALL 0 /* where patched() has it */
#define CALL_SIZE    5

/* A call that goes to another function from now on. */
HIDDEN void patch_call(char *at, void (*to)(void))
{
	*(volatile int *)(at + 1) = (int)((char *)to - (at + CALL_SIZE));
}

/* A function's first instruction: it returns, or does nothing. */
HIDDEN void patch_first(char *at, bool returns)
{
	*(volatile u8 *)at = returns ? 0xc3 : 0x90;
}

#endif
