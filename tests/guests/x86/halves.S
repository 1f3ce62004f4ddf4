/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * halves.S: pushes and pops of two bytes, of 64-bit and of 32-bit code.  Each function
 * works in their middle, and calls.
 */
#ifdef NO_CFI
#define CFI(...)
#else
#define CFI(...) __VA_ARGS__
#endif
#ifdef __x86_64__
#define WORD  8
#define SP    %rsp
#define FP    %rbp
#define COUNT %rcx
#else
#define WORD  4
#define SP    %esp
#define FP    %ebp
#define COUNT %ecx
#endif

	.macro	begin name
	.globl	\name
	.type	\name, @function
	.balign	64
\name:
	CFI(.cfi_startproc)
#ifdef __x86_64__
	movq	%rsi, %rcx
#else
	movl	8(%esp), %ecx
	movl	4(%esp), %edx
#endif
	.endm

	.macro	finish name
	ret
	CFI(.cfi_endproc)
	.size	\name, . - \name
	.endm

	.macro	down what:vararg
	\what
	CFI(.cfi_adjust_cfa_offset 2)
	.endm

	.macro	up what:vararg
	\what
	CFI(.cfi_adjust_cfa_offset -2)
	.endm

	.macro	count
	.balign 32
1:	imull	$3, %ecx, %eax
	dec	COUNT
	jnz	1b
	.endm

	.macro	work
#ifdef __x86_64__
	call	half_work
#else
	pushl	%edx
	CFI(.cfi_adjust_cfa_offset 4)
	call	half_work
	addl	$4, %esp
	CFI(.cfi_adjust_cfa_offset -4)
#endif
	.endm

	.text
	begin	push_halves
	down	pushw %ax
	down	pushw $0x1234
	down	pushw (SP)
	count
	work
	up	popw %dx
	up	popw %cx
	up	popw %ax
	finish	push_halves

	/* rbp leads over what was pushed. */
	begin	push_framed
	push	FP
	CFI(.cfi_adjust_cfa_offset WORD)
	CFI(.cfi_offset FP, -2 * WORD)
	mov	SP, FP
	CFI(.cfi_def_cfa_register FP)
	pushw	%ax
	count
	work
	popw	%ax
	leave
	CFI(.cfi_def_cfa SP, WORD)
	finish	push_framed

	/* The flags; and a part of what was pushed is given up as a whole word. */
	begin	push_flags
	down	pushfw
	down	pushw %ax
	down	pushw %ax
	down	pushw %ax
	count
	work
	up	popw %ax
	up	popw %ax
	up	popw %ax
	up	popfw
	finish	push_flags

	.section .note.GNU-stack, "", @progbits
