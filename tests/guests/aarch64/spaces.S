/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spaces.S: threads of two address spaces change places.
 */
	.macro	pair what, a, b, at
	\what	x\a, x\b, [sp, #\at]
	.ifc	\what, stp
	.cfi_rel_offset x\a, \at
	.cfi_rel_offset x\b, \at + 8
	.else
	.cfi_restore x\a
	.cfi_restore x\b
	.endif
	.endm

	.macro	saved what
	pair	\what, 19, 20, 16
	pair	\what, 21, 22, 32
	pair	\what, 23, 24, 48
	pair	\what, 25, 26, 64
	pair	\what, 27, 28, 80
	.endm

	.text
	/* void switch_space(u64 *save_sp, u64 load_sp, u64 ttbr1): as switch_context(),
	 * and the stack that is gone to is in another address space. */
	.globl switch_space
	.type switch_space, @function
	.balign 16
switch_space:
	.cfi_startproc
	stp	x29, x30, [sp, #-96]!
	.cfi_def_cfa_offset 96
	.cfi_offset x29, -96
	.cfi_offset x30, -88
	mov	x29, sp
	saved	stp
	mov	x9, sp
	str	x9, [x0]
	msr	ttbr1_el1, x2
	isb
	tlbi	vmalle1
	dsb	nsh
	isb
	mov	sp, x1
	saved	ldp
	ldp	x29, x30, [sp], #96
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size switch_space, . - switch_space

	.section .note.GNU-stack, "", @progbits
