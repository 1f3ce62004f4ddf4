/* SPDX-License-Identifier: GPL-2.0-or-later */
/* patches.S: functions of which patches.c changes the code. */

	.text
	/* Calls patch_a, or patch_b: the call is written over. */
	.globl	patched
	.type	patched, @function
	.balign	64
patched:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	bl	patch_a
	ldp	x29, x30, [sp], #16
	ret
	bl	patch_b
	.cfi_endproc
	.size	patched, . - patched

	/* Calls patch_b, or its first instruction is another: it returns. */
	.globl	swapped
	.type	swapped, @function
	.balign	64
swapped:
	.cfi_startproc
	nop
	stp	x29, x30, [sp, #-16]!
	bl	patch_b
	ldp	x29, x30, [sp], #16
	ret
	.cfi_endproc
	.size	swapped, . - swapped

	.section .note.GNU-stack, "", @progbits
