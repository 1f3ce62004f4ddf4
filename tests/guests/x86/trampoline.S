/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trampoline.S: the page by which the program enters the kernel and leaves it, as Linux
 * has it with page-table isolation: it is mapped far away from the rest, and nothing else
 * of the kernel is mapped while the program runs.  The page tables are changed there, and
 * so is the stack.  No tables of rules.
 */
#include "trampoline.h"
#include "layout.h"

	.macro	function name
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	.endm

	.macro	save_all
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%rax
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	cld
	.endm

	/* All but rdi. */
	.macro	restore_all
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rax
	popq	%rcx
	popq	%rdx
	popq	%rsi
	.endm

	/* These leave the page as they have come to it: rdi is on the stack. */
	.macro	go_to where
	movq	$\where, %rdi
	jmp	*%rdi
	.endm

	.section .text.trampoline, "ax"
	.balign	4096
	.globl	trampoline
trampoline:
	function syscall_vector
	swapgs
	movq	%rsp, %gs:VCPU_USER_RSP
	movq	%cr3, %rsp
	andq	$~PAIR_BIT, %rsp
	movq	%rsp, %cr3
	movq	%gs:VCPU_KERNEL_RSP, %rsp
	pushq	$SELECTOR_USER_DATA
	pushq	%gs:VCPU_USER_RSP
	pushq	%r11
	pushq	$SELECTOR_USER_CODE
	pushq	%rcx
	pushq	$SYSCALL_NUMBER
	pushq	%rdi
	go_to	kernel_syscall
	.size	syscall_vector, . - syscall_vector

	function gate_vector
	pushq	$GATE_VECTOR
	jmp	interrupt_vector
	.size	gate_vector, . - gate_vector

	function timer_vector
	pushq	$TIMER_VECTOR
	.size	timer_vector, . - timer_vector

	.globl	interrupt_vector
	.type	interrupt_vector, @function
interrupt_vector:
	pushq	%rdi
	testb	$3, 24(%rsp)
	jz	1f
	swapgs
	movq	%cr3, %rdi
	andq	$~PAIR_BIT, %rdi
	movq	%rdi, %cr3
	movq	%rsp, %rdi
	movq	%gs:VCPU_KERNEL_RSP, %rsp
	pushq	48(%rdi)
	pushq	40(%rdi)
	pushq	32(%rdi)
	pushq	24(%rdi)
	pushq	16(%rdi)
	pushq	8(%rdi)
	pushq	(%rdi)
1:	go_to	kernel_interrupt
	.size	interrupt_vector, . - interrupt_vector

	/* On top are rdi, and what iretq takes. */
	function interrupt_return
	movq	%rsp, %rdi
	movabsq	$ENTRY_STACK, %rsp
	pushq	40(%rdi)
	pushq	32(%rdi)
	pushq	24(%rdi)
	pushq	16(%rdi)
	pushq	8(%rdi)
	pushq	(%rdi)
	movq	%cr3, %rdi
	orq	$PAIR_BIT, %rdi
	movq	%rdi, %cr3
	swapgs
	popq	%rdi
	iretq
	.size	interrupt_return, . - interrupt_return

	/* The same; rcx and r11 have what sysretq takes. */
	function syscall_return
	movq	%rsp, %rdi
	movabsq	$ENTRY_STACK, %rsp
	pushq	32(%rdi)
	pushq	(%rdi)
	movq	%cr3, %rdi
	orq	$PAIR_BIT, %rdi
	movq	%rdi, %cr3
	popq	%rdi
	popq	%rsp
	swapgs
	sysretq
	.size	syscall_return, . - syscall_return
	.balign	4096

	.text
	function kernel_interrupt
	popq	%rdi
	pushq	%rdi
	save_all
	movq	%rsp, %rdi
	call	user_trap
	restore_all
	testb	$3, 24(%rsp)
	jnz	1f
	popq	%rdi
	addq	$8, %rsp
	iretq
1:	popq	%rdi
	addq	$8, %rsp
	pushq	%rdi
	movabsq	$(TRAMPOLINE + (interrupt_return - trampoline)), %rdi
	jmp	*%rdi
	.size	kernel_interrupt, . - kernel_interrupt

	function kernel_syscall
	popq	%rdi
	pushq	%rdi
	save_all
	movq	%rsp, %rdi
	call	user_trap
	restore_all
	popq	%rdi
	addq	$8, %rsp
	pushq	%rdi
	movabsq	$(TRAMPOLINE + (syscall_return - trampoline)), %rdi
	jmp	*%rdi
	.size	kernel_syscall, . - kernel_syscall

	/* enter_program(frame, unit): what iretq takes. */
	function enter_program
	movq	%rdi, %rsp
	pushq	%rsi
	movabsq	$(TRAMPOLINE + (interrupt_return - trampoline)), %rdi
	jmp	*%rdi
	.size	enter_program, . - enter_program

	.section .rodata
	.globl	user_image, user_image_end
	.balign	8
user_image:
	.incbin USER_BINARY
user_image_end:

	.section .note.GNU-stack, "", @progbits
