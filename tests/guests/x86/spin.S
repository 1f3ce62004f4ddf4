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
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	testq	%rdi, %rdi
	cmovzq	%rbp, %rdi
	movq	%rdi, %rbp
	.balign 32
1:	imulq	$3, %rax, %rax
	addq	%rsi, %rax
	decq	%rsi
	jnz	1b
	popq	%rbp
	.cfi_restore rbp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size spin_with_fp, . - spin_with_fp

	.section .note.GNU-stack, "", @progbits
