/* SPDX-License-Identifier: GPL-2.0-or-later */
/* patches.S: functions of which patches.c changes the code. */

	/* Calls patch_a, or patch_b: the call's distance is written over. */
	.globl	patched
	.type	patched, @function
	.balign	64
patched:
	.cfi_startproc
	call	patch_a
	ret
	call	patch_b
	.cfi_endproc
	.size	patched, . - patched

	/* Calls patch_b, or its first instruction is another: it returns. */
	.globl	swapped
	.type	swapped, @function
	.balign	64
swapped:
	.cfi_startproc
	nop
	call	patch_b
	ret
	.cfi_endproc
	.size	swapped, . - swapped

	.section .note.GNU-stack, "", @progbits
