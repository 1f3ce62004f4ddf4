/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spin.S: void spin_with_fp(u64 fp, u64 iterations): a loop with a frame pointer of the
 * caller's choice; 0 means the one that is there.
 */
	.text
	.globl spin_with_fp
	.type spin_with_fp, @function
	.balign 64
spin_with_fp:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x2, sp
	cmp	x0, #0
	csel	x29, x2, x0, eq
	mov	x3, #3
	.balign 32
1:	madd	x2, x2, x3, x1
	subs	x1, x1, #1
	b.ne	1b
	ldp	x29, x30, [sp], #16
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size spin_with_fp, . - spin_with_fp

	.section .note.GNU-stack, "", @progbits
