/* SPDX-License-Identifier: GPL-2.0-or-later */
/* patches.S: functions of which patches.c changes the code. */

	.text
	.option	norvc
	/* Calls patch_a, or patch_b: the call is written over. */
	.globl	patched
	.type	patched, @function
	.balign	64
patched:
	.cfi_startproc
	addi	sp, sp, -16
	sd	ra, 8(sp)
	jal	patch_a
	ld	ra, 8(sp)
	addi	sp, sp, 16
	ret
	jal	patch_b
	.cfi_endproc
	.size	patched, . - patched

	/* Calls patch_b, or its first instruction is another: it returns. */
	.globl	swapped
	.type	swapped, @function
	.balign	64
swapped:
	.cfi_startproc
	nop
	addi	sp, sp, -16
	sd	ra, 8(sp)
	jal	patch_b
	ld	ra, 8(sp)
	addi	sp, sp, 16
	ret
	.cfi_endproc
	.size	swapped, . - swapped

	.section .note.GNU-stack, "", @progbits
