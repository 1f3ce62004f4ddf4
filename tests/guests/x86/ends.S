/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ends.S: how the threads of ends.c begin; no tables say so.
 */
	.text
	/* The one that called is on a stack that is left for good. */
	.globl own_stack
	.type own_stack, @function
	.balign 16
own_stack:
	movq	%r13, %rsp
	pushq	$0x77
	pushq	$0x78
	call	own_thread
	cli
	hlt
	.size own_stack, . - own_stack

	.globl own_jump
	.type own_jump, @function
	.balign 16
own_jump:
	movq	%r13, %rsp
	jmp	jumped_thread
	.size own_jump, . - own_jump

	.globl own_left
	.type own_left, @function
	.balign 16
own_left:
	movq	%r13, %rsp
	call	left_leaf
	jmp	left_thread
	.size own_left, . - own_left

	.type left_leaf, @function
	.balign 16
left_leaf:
	ret
	.size left_leaf, . - left_leaf

	/* exception_return(to) */
	.globl exception_return
	.type exception_return, @function
	.balign 16
exception_return:
	movq	%rsp, %rax
	movl	%ss, %ecx
	pushq	%rcx
	pushq	%rax
	pushfq
	movl	%cs, %ecx
	pushq	%rcx
	pushq	%rdi
	iretq
	.size exception_return, . - exception_return

	/* context(stack, entry, own_stack, garbage): as switch_context() leaves it: r15
	 * r14 r13 r12 rbx rbp, return address.  Above is what is there. */
	.globl context
	.type context, @function
	.balign 16
context:
	leaq	-56(%rdi), %rax
	movq	$0, (%rax)
	movq	$0, 8(%rax)
	movq	%rdx, 16(%rax)
	movq	$0, 24(%rax)
	movq	$0, 32(%rax)
	movq	%rcx, 40(%rax)
	movq	%rsi, 48(%rax)
	ret
	.size context, . - context

	.section .note.GNU-stack, "", @progbits
