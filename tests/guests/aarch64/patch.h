/* SPDX-License-Identifier: GPL-2.0-or-later */
/* patch.h: code that is written over, of aarch64 (Arm ARM, B2.4.4: caches do not see
 * it by themselves). */
#ifndef GUEST_PATCH_H
#define GUEST_PATCH_H

#include "machine.h"

#define PATCHED_CALL 4 /* where patched() has it */

HIDDEN void patch_word(char *at, u32 word)
{
	*(volatile u32 *)at = word;
	__asm__ volatile(
		"dc cvau, %0\n\tdsb ish\n\tic ivau, %0\n\tdsb ish\n\tisb" ::"r"(at)
		: "memory");
}

/* A call (bl) that goes to another function from now on. */
HIDDEN void patch_call(char *at, void (*to)(void))
{
	patch_word(at, 0x94000000 | ((u32)(((char *)to - at) >> 2) & 0x3ffffff));
}

/* A function's first instruction: ret, or nop. */
HIDDEN void patch_first(char *at, bool returns)
{
	patch_word(at, returns ? 0xd65f03c0 : 0xd503201f);
}

#endif
