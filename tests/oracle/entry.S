/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entry.S: where shapes.c is interrupted; the same code twice, of which one has rules
 * for its frame.
 */
	.text
	.globl entry_with_table
	.type entry_with_table, @function
	.balign 16
entry_with_table:
	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_def_cfa rsp, 40
	.cfi_offset rip, -40
	.cfi_offset rsp, -16
	.macro save reg
	pushq	%\reg
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset \reg, 0
	.endm
	.macro load reg
	popq	%\reg
	.cfi_adjust_cfa_offset -8
	.cfi_restore \reg
	.endm
	save rax
	save rcx
	save rdx
	save rsi
	save rdi
	save r8
	save r9
	save r10
	save r11
	cld
	call	tick
	load r11
	load r10
	load r9
	load r8
	load rdi
	load rsi
	load rdx
	load rcx
	load rax
	iretq
	.cfi_endproc
	.size entry_with_table, . - entry_with_table

	.globl entry_without_table
	.type entry_without_table, @function
	.balign 16
entry_without_table:
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
	call	tick
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	iretq
	.size entry_without_table, . - entry_without_table

	.section .note.GNU-stack, "", @progbits
