/* SPDX-License-Identifier: GPL-2.0-or-later */
/* patch.h: code that is written over, of riscv64 (Zifencei: another hart would have to
 * execute fence.i, too). */
#ifndef GUEST_PATCH_H
#define GUEST_PATCH_H

#include "machine.h"

#define PATCHED_CALL 8 /* where patched() has it */

HIDDEN void patch_word(char *at, u32 word)
{
	*(volatile u32 *)at = word;
	__asm__ volatile("fence rw, rw\n\tfence.i" ::: "memory");
}

/* A call (jal ra) that goes to another function from now on. */
HIDDEN void patch_call(char *at, void (*to)(void))
{
	u32 off = (u32)((char *)to - at);

	patch_word(at, (off >> 20 & 1) << 31 | (off >> 1 & 0x3ff) << 21 |
			       (off >> 11 & 1) << 20 | (off >> 12 & 0xff) << 12 | 0xef);
}

/* A function's first instruction: ret, or nop. */
HIDDEN void patch_first(char *at, bool returns)
{
	patch_word(at, returns ? 0x00008067 : 0x00000013);
}

#endif
