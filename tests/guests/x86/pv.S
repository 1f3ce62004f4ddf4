/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pv.S: the start of a paravirtual Xen domain, on the page tables that the domain
 * builder made.  It makes no hypercall.  Notes: xen/include/public/elfnote.h.
 */
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
	.quad 0xffffffff80000000
	note 4, 8			/* PADDR_OFFSET: the file has virtual addresses */
	.quad 0xffffffff80000000
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
	leaq stack_top(%rip), %rsp
	xorl %ebp, %ebp
	call kmain
1:	jmp 1b
	.size _start, . - _start

	.bss
	.balign 4096
	.skip 16384
stack_top:
	.section .note.GNU-stack, "", @progbits
