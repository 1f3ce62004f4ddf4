/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ends.S: how the threads of ends.c begin; no tables say so.
 */
#include "machine_mode.h"

	.text
	/* The one that called is on a stack that is left for good. */
	.globl own_stack
	.type own_stack, @function
	.balign 16
own_stack:
	mv	sp, s2
	call	own_thread
1:	wfi
	j	1b
	.size own_stack, . - own_stack

	.globl own_jump
	.type own_jump, @function
	.balign 16
own_jump:
	mv	sp, s2
	mv	ra, s0
	tail	jumped_thread
	.size own_jump, . - own_jump

	.globl own_left
	.type own_left, @function
	.balign 16
own_left:
	mv	sp, s2
	call	left_leaf
	beqz	s2, own_stack
	la	t0, left_thread
	add	t0, t0, s2	/* as code that has moved itself: not to be read */
	sub	t0, t0, s2
	jr	t0
	.size own_left, . - own_left

	.type left_leaf, @function
	.balign 16
left_leaf:
	ret
	.size left_leaf, . - left_leaf

	/* exception_return(to): sstatus.SPP says that S-mode goes on; or by mret, from a
	 * function of M-mode. */
	.globl exception_return
	.type exception_return, @function
	.balign 16
exception_return:
	ld	t0, machine_mode
	bnez	t0, 1f
	li	t0, 0x100
	csrs	sstatus, t0
	csrw	sepc, a0
	sret
1:	mv	a1, a0
	li	a7, MACHINE_RETURN
	ecall
2:	j	2b
	.size exception_return, . - exception_return

	/* context(stack, entry, own_stack, garbage): as switch_context() leaves it: from the top,
	 * ra, s0, s1 to s11, and a word for alignment. */
	.globl context
	.type context, @function
	.balign 16
context:
	addi	a0, a0, -112
	sd	a1, 104(a0)
	sd	a3, 96(a0)
	sd	a2, 80(a0)
	ret
	.size context, . - context

	.section .note.GNU-stack, "", @progbits
