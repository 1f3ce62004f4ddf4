/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counted.S: functions of counted.c whose instructions are known one by one, and ways
 * from one to the next that compilers seldom make.
 */
#include "layout.h"
#ifdef TABLE
#include "table.h"
#endif

	.macro	function name
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	.endm

	.macro	counted name
	function \name
	lock incq counts_\name(%rip)
	.endm

	.macro	done name
	.size	\name, . - \name
	.endm

	.text
	/* Two instructions a call. */
counted hot
	ret
done hot

	/* By a jump to another function. */
counted tail1
	jmp	tail2
done tail1
counted tail2
	ret
done tail2

	/* By falling into another function. */
	.globl	fall1
	.type	fall1, @function
	.balign	16
fall1:	lock incq counts_fall1(%rip)
	.size	fall1, . - fall1
	.globl	fall2
	.type	fall2, @function
fall2:	lock incq counts_fall2(%rip)
	ret
done fall2

	/* By a return that is a jump. */
counted push_ret
	leaq	pushed(%rip), %rax
	pushq	%rax
	ret
done push_ret
counted pushed
	ret
done pushed

	/* Its loop leads to its first instruction; edi rounds, three instructions each. */
function top_loop
	lock incq counts_top_loop_rounds(%rip)
	decl	%edi
	jnz	top_loop
	ret
done top_loop

	/* A table of jumps within it, as compilers make of a switch; edi: 0 to 3. */
counted table
	movl	%edi, %edi
	jmp	*1f(,%rdi,8)
2:	nop
3:	nop
4:	nop
5:	ret
done table
	.section .rodata
	.balign	8
1:	.quad	2b, 3b, 4b, 5b
	.text

	/* Its address, as position-independent code finds it. */
counted where
	call	1f
1:	popq	%rax
	ret
done where

	/* The stack pointer as a value, with room taken for a while. */
counted moves_stack
	movq	%rsp, %rax
	subq	$6000, %rsp
	pushq	%rax
	call	hot
	movq	(%rsp), %rdx
	movq	%rdx, %rsp
	call	hot
	ret
done moves_stack

	/* int set_place(u64 place[8]); void go_to_place(const u64 place[8]) */
counted set_place
	movq	%rbx, (%rdi)
	movq	%rbp, 8(%rdi)
	movq	%r12, 16(%rdi)
	movq	%r13, 24(%rdi)
	movq	%r14, 32(%rdi)
	movq	%r15, 40(%rdi)
	leaq	8(%rsp), %rax
	movq	%rax, 48(%rdi)
	movq	(%rsp), %rax
	movq	%rax, 56(%rdi)
	xorl	%eax, %eax
	ret
done set_place
counted go_to_place
	movq	(%rdi), %rbx
	movq	8(%rdi), %rbp
	movq	16(%rdi), %r12
	movq	24(%rdi), %r13
	movq	32(%rdi), %r14
	movq	40(%rdi), %r15
	movq	48(%rdi), %rsp
	movl	$1, %eax
	jmp	*56(%rdi)
done go_to_place

	/* OCaml's exceptions: a handler's address is pushed, and to raise one is to load the
	 * stack pointer with where it is, and to return. */
counted tries
	leaq	1f(%rip), %rax
	pushq	%rax
	movq	%rsp, %rdi
	call	throws
1:	call	hot
	ret
done tries
counted throws
	call	raises
	ud2
done throws
counted raises
	movq	%rdi, %rsp
	ret
done raises

	/* The timer's interrupt: goes on in what all interrupts have in common. */
#ifdef TABLE
counted trap
	int	$TRAP_VECTOR
	ret
done trap
	/* Entries of all vectors, as one symbol. */
function tick_entry
	vector = 0
	.rept	256
	.balign	TABLE_STRIDE
	.if	vector % 3 == 0	/* as for faults that push a code of their own */
	nop
	.endif
	pushq	$vector
	jmp	common_entry
	vector = vector + 1
	.endr
done tick_entry
#else
function tick_entry
	lock incq counts_tick_entry(%rip)
	pushq	$0
	jmp	common_entry
done tick_entry
#endif
counted common_entry
#ifdef TABLE
	lock incq counts_tick_entry(%rip)
#endif
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	cld
#ifdef TABLE
	cmpl	$TRAP_VECTOR, 72(%rsp)
	je	1f
#endif
	call	tick
2:
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	addq	$8, %rsp
	iretq
#ifdef TABLE
1:
	call	trapped
	jmp	2b
#endif
done common_entry

	.section .note.GNU-stack, "", @progbits
