/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switch.S: where threads begin, change places, and are interrupted.
 */
#include "layout.h"

#define HLT 0xf4

	.text
	/* void switch_context(u64 *save_rsp, u64 load_rsp): what the compiler expects to
	 * survive a call is on the stack that is left, all else is lost. */
	.globl switch_context
	.type switch_context, @function
	.balign 16
switch_context:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	movq	%rsp, %rbp
	pushq	%rbx
	.cfi_def_cfa_offset 24
	.cfi_offset rbx, -24
	pushq	%r12
	.cfi_def_cfa_offset 32
	.cfi_offset r12, -32
	pushq	%r13
	.cfi_def_cfa_offset 40
	.cfi_offset r13, -40
	pushq	%r14
	.cfi_def_cfa_offset 48
	.cfi_offset r14, -48
	pushq	%r15
	.cfi_def_cfa_offset 56
	.cfi_offset r15, -56
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp
	popq	%r15
	.cfi_def_cfa_offset 48
	.cfi_restore r15
	popq	%r14
	.cfi_def_cfa_offset 40
	.cfi_restore r14
	popq	%r13
	.cfi_def_cfa_offset 32
	.cfi_restore r13
	popq	%r12
	.cfi_def_cfa_offset 24
	.cfi_restore r12
	popq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_restore rbx
	popq	%rbp
	.cfi_def_cfa_offset 8
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size switch_context, . - switch_context

	/* A new thread's first switch_context() returns here: r12(r13), the root of the
	 * thread's frames. */
	.globl thread_entry
	.type thread_entry, @function
	.balign 16
thread_entry:
	.cfi_startproc
	.cfi_undefined rip
	xorl	%ebp, %ebp
	movq	%r13, %rdi
	call	*%r12
1:	cli
	hlt
	jmp	1b
	.cfi_endproc
	.size thread_entry, . - thread_entry

	/* The timer only ends a hlt: also one that is the next instruction.  KVM takes
	 * interrupts there where it emulates instructions. */
	.globl timer_interrupt
	.type timer_interrupt, @function
	.balign 16
timer_interrupt:
	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_def_cfa rsp, 40
	.cfi_offset rip, -40
	.cfi_offset rsp, -16
	pushq	%rax
	.cfi_def_cfa_offset 48
	movq	$LAPIC_BASE + LAPIC_EOI, %rax
	movl	$0, (%rax)
	movq	8(%rsp), %rax
	cmpb	$HLT, (%rax)
	jne	1f
	incq	8(%rsp)
1:	popq	%rax
	.cfi_def_cfa_offset 40
	iretq
	.cfi_endproc
	.size timer_interrupt, . - timer_interrupt

	/* A fault is a bug of the guest: say where, and stop. */
	.globl fault_stubs
	.type fault_stubs, @function
	.balign 16
fault_stubs:
	.cfi_startproc
	.cfi_undefined rip
	.set	vector, 0
	.rept	32
	.balign	16
	pushq	$vector
	movq	%rsp, %rdi
	jmp	fault_common
	.set	vector, vector + 1
	.endr
fault_common:
	andq	$-16, %rsp
	call	report_fault
1:	cli
	hlt
	jmp	1b
	.cfi_endproc
	.size fault_stubs, . - fault_stubs

	.section .note.GNU-stack, "", @progbits
