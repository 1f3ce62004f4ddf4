/* SPDX-License-Identifier: GPL-2.0-or-later */
/* behind.S: calls and jumps by pointer, right behind which an interrupt comes; and what
 * that enters. */

	.macro	function name
	.globl	\name
	.type	\name, @function
	.balign	64
\name:
	.cfi_startproc
	.endm

	.macro	done name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.macro	save_all
	.irp	reg, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11
	pushq	%\reg
	.endr
	.endm

	.macro	restore_all
	.irp	reg, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax
	popq	%\reg
	.endr
	.endm

	/* void call_behind(void (*to)(void)): no interrupt is taken behind sti itself. */
	function call_behind
	subq	$8, %rsp
	sti
	call	*%rdi
	cli
	addq	$8, %rsp
	ret
	done call_behind

	/* void jump_behind(void (*to)(void)) */
	function jump_behind
	sti
	jmp	*%rdi
	done jump_behind

	/* 2,002 instructions, and on into the middle of another one, which has two. */
	function stray
	movl	$1000, %ecx
1:	decl	%ecx
	jnz	1b
	jmp	in_middle
	done stray

	function middle
	nop
in_middle:
	call	below_middle
	ret
	done middle

	function below_middle
	ret
	done below_middle

	function entry_a
	save_all
	call	work_a
	restore_all
	iretq
	done entry_a

	/* On a stack of its own. */
	function entry_b
	pushq	%rbx
	movq	%rsp, %rbx
	leaq	own_stack_end(%rip), %rsp
	save_all
	call	work_b
	restore_all
	movq	%rbx, %rsp
	popq	%rbx
	iretq
	done entry_b

	.bss
	.balign	4096
	.zero	4096
own_stack_end:

	.section .note.GNU-stack, "", @progbits
