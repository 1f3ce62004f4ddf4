/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot.S: the start of a paravirtual domain, on the page tables that the domain builder
 * made.  Notes: xen/include/public/elfnote.h.
 */
#include "layout.h"

	.macro note type, size
	.balign 4
	.long 4, \size, \type
	.asciz "Xen"
	.endm

	.section .note.Xen, "a", @note
	note 6, 5			/* GUEST_OS */
	.asciz "tiny"
	.balign 4
	note 5, 8			/* XEN_VERSION */
	.asciz "xen-3.0"
	note 3, 8			/* VIRT_BASE */
	.quad IMAGE_BASE
	note 4, 8			/* PADDR_OFFSET: the file has virtual addresses */
	.quad IMAGE_BASE
	note 1, 8			/* ENTRY */
	.quad _start
	note 9, 4			/* PAE_MODE */
	.asciz "yes"
	note 8, 8			/* LOADER */
	.asciz "generic"

	.text
	.globl _start
	.type _start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip
	movq	$boot_stack_top, %rsp
	xorl	%ebp, %ebp
	movq	%rsi, start_info
	call	boot_main
1:	jmp	1b
	.cfi_endproc
	.size _start, . - _start

	/* The others come here, on their own stacks, with their number in rdi. */
	.globl start_other
	.type start_other, @function
start_other:
	lock incl vcpu_arrivals
	.size start_other, . - start_other

	/* start_vcpu(vcpu): kmain(vcpu) on the vCPU's own stack; the root of its frames. */
	.globl start_vcpu
	.type start_vcpu, @function
start_vcpu:
	.cfi_startproc
	.cfi_undefined rip
	movl	%edi, %eax
	imulq	$(STACK_SLOTS * STACK_MEMORY), %rax
	leaq	stack_memory + STACK_MEMORY(%rax), %rsp
	subq	$stack_skew, %rsp
	xorl	%ebp, %ebp
	call	vcpu_init
	movl	%eax, %edi
	call	kmain
1:	jmp	1b
	.cfi_endproc
	.size start_vcpu, . - start_vcpu

	.data
	.globl vcpu_arrivals
	.balign 8
vcpu_arrivals:
	.long	1			/* the boot vCPU */

	.bss
	.globl start_info
	.balign 4096
	.skip	8192
boot_stack_top:
start_info:
	.skip	8

	.section .note.GNU-stack, "", @progbits
