/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring3.S: ways into the kernel and out of it again.  Without tables (NO_CFI), whoever
 * samples in from outside has only the code to go by.
 */
#include "ring3.h"
#include "layout.h"

#ifdef NO_CFI
#define CFI(...)
#else
#define CFI(...) __VA_ARGS__
#endif

	/* What is pushed by a processor is at CFA - 40, with an error code or not. */
	.macro	enter name, words
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	CFI(.cfi_startproc simple)
	CFI(.cfi_signal_frame)
	CFI(.cfi_def_cfa rsp, 40 + 8 * \words)
	CFI(.cfi_offset rip, -40)
	CFI(.cfi_offset rsp, -16)
	.endm

	.macro	save reg, at
	pushq	%\reg
	CFI(.cfi_adjust_cfa_offset 8)
	CFI(.cfi_rel_offset \reg, 0)
	.endm

	.macro	restore reg
	popq	%\reg
	CFI(.cfi_adjust_cfa_offset -8)
	CFI(.cfi_restore \reg)
	.endm

	.macro	save_all
	save	rdi
	save	rsi
	save	rdx
	save	rcx
	save	rax
	save	r8
	save	r9
	save	r10
	save	r11
	save	rbx
	save	rbp
	save	r12
	save	r13
	save	r14
	save	r15
	cld
	.endm

	.macro	restore_all
	restore	r15
	restore	r14
	restore	r13
	restore	r12
	restore	rbp
	restore	rbx
	restore	r11
	restore	r10
	restore	r9
	restore	r8
	restore	rax
	restore	rcx
	restore	rdx
	restore	rsi
	restore	rdi
	.endm

	.macro	leave_kernel name
	iretq
	CFI(.cfi_endproc)
	.size	\name, . - \name
	.endm

	.text
	enter	timer_entry, 0
	save_all
	xorl	%ebp, %ebp	/* nobody may rely on it */
	movq	%rsp, %rdi
	call	timer_tick
	restore_all
	leave_kernel timer_entry

	enter	gate_entry, 0
	save_all
	movq	%rdi, %rsi
	movq	%rax, %rdi
	movq	%rsp, %rdx
	call	system_call
	movq	%rax, 80(%rsp)	/* where rax is kept */
	restore_all
	leave_kernel gate_entry

	/* The processor pushes an error code as well. */
	enter	fault_entry, 1
	save_all
	movq	%rsp, %rdi
	subq	$8, %rsp
	CFI(.cfi_adjust_cfa_offset 8)
	call	page_fault
	addq	$8, %rsp
	CFI(.cfi_adjust_cfa_offset -8)
	restore_all
	addq	$8, %rsp
	CFI(.cfi_adjust_cfa_offset -8)
	leave_kernel fault_entry

#ifdef KEEPS_FRAME
	/* As Nanos: registers are kept in a frame that is no part of the stack, which begins
	 * anew at each call, and the kernel's function never returns. */
	.globl	syscall_entry
	.type	syscall_entry, @function
	.balign	16
syscall_entry:
	swapgs
	movq	%rsp, %gs:CPU_USER_RSP
	movq	%rcx, %gs:CPU_FRAME
	movq	%r11, %gs:CPU_FRAME + 8
	movq	%rbx, %gs:CPU_FRAME + 16
	movq	%rbp, %gs:CPU_FRAME + 24
	movq	%r12, %gs:CPU_FRAME + 32
	movq	%r13, %gs:CPU_FRAME + 40
	movq	%r14, %gs:CPU_FRAME + 48
	movq	%r15, %gs:CPU_FRAME + 56
	movq	%gs:CPU_KERNEL_RSP, %rsp
	subq	$8, %rsp
	movq	%rdi, %rsi
	movq	%rax, %rdi
	movq	%rsp, %rdx
	xorl	%ebp, %ebp
	jmp	run_call
	.size	syscall_entry, . - syscall_entry

	/* void frame_return(u64 value) */
	.globl	frame_return
	.type	frame_return, @function
	.balign	16
frame_return:
	movq	%rdi, %rax
	movq	%gs:CPU_FRAME, %rcx
	movq	%gs:CPU_FRAME + 8, %r11
	movq	%gs:CPU_FRAME + 16, %rbx
	movq	%gs:CPU_FRAME + 24, %rbp
	movq	%gs:CPU_FRAME + 32, %r12
	movq	%gs:CPU_FRAME + 40, %r13
	movq	%gs:CPU_FRAME + 48, %r14
	movq	%gs:CPU_FRAME + 56, %r15
	movq	%gs:CPU_USER_RSP, %rsp
	swapgs
	sysretq
	.size	frame_return, . - frame_return
#else
	/* Only what syscall and the ABI destroy need not be kept: no frame as above. */
	.globl	syscall_entry
	.type	syscall_entry, @function
	.balign	16
syscall_entry:
	CFI(.cfi_startproc simple)
	CFI(.cfi_signal_frame)
	CFI(.cfi_def_cfa rsp, 0)
	CFI(.cfi_register rip, rcx)
	swapgs
	movq	%rsp, %gs:CPU_USER_RSP
	movq	%gs:CPU_KERNEL_RSP, %rsp
	pushq	%gs:CPU_USER_RSP
	CFI(.cfi_def_cfa rsp, 8)
	CFI(.cfi_offset rsp, -8)
	pushq	%rcx
	CFI(.cfi_adjust_cfa_offset 8)
	CFI(.cfi_offset rip, -16)
	pushq	%r11
	CFI(.cfi_adjust_cfa_offset 8)
	save	rbp
	movq	%rdi, %rsi
	movq	%rax, %rdi
	movq	%rsp, %rdx
	xorl	%ebp, %ebp
	call	system_call
	restore	rbp
	popq	%r11
	CFI(.cfi_adjust_cfa_offset -8)
	popq	%rcx
	CFI(.cfi_adjust_cfa_offset -8)
	CFI(.cfi_register rip, rcx)
	popq	%rsp
	CFI(.cfi_def_cfa rsp, 0)
	CFI(.cfi_same_value rsp)
	swapgs
	sysretq
	CFI(.cfi_endproc)
	.size	syscall_entry, . - syscall_entry
#endif

	/* void enter_user(u64 stack, u64 vcpu, u64 unit) */
	.globl	enter_user
	.type	enter_user, @function
enter_user:
	pushq	$SELECTOR_USER_DATA
	pushq	%rdi
	pushq	$0x202
	pushq	$SELECTOR_USER_CODE
	pushq	$USER_TEXT
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	iretq
	.size	enter_user, . - enter_user

	.data
	.globl	user_image, user_image_end
	.balign	16
user_image:
	.incbin	USER_BINARY
user_image_end:

	.section .note.GNU-stack, "", @progbits
