/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switch.S: where threads begin and change places, and the vectors.
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
	/* void switch_context(u64 *save_sp, u64 load_sp): what the compiler expects to
	 * survive a call is on the stack that is left, all else is lost. */
	.globl switch_context
	.type switch_context, @function
	.balign 16
switch_context:
	.cfi_startproc
	stp	x29, x30, [sp, #-96]!
	.cfi_def_cfa_offset 96
	.cfi_offset x29, -96
	.cfi_offset x30, -88
	mov	x29, sp
	saved	stp
	mov	x9, sp
	str	x9, [x0]
	mov	sp, x1
	saved	ldp
	ldp	x29, x30, [sp], #96
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size switch_context, . - switch_context

	/* A new thread's first switch_context() returns here: x19(x20), the root of the
	 * thread's frames. */
	.globl thread_entry
	.type thread_entry, @function
	.balign 16
thread_entry:
	.cfi_startproc
	.cfi_undefined x30
	mov	x29, xzr
	mov	x0, x20
	blr	x19
1:	wfi
	b	1b
	.cfi_endproc
	.size thread_entry, . - thread_entry

	/* Nothing is ever taken but a fault, which is a bug of the guest: say where, and
	 * stop. */
	.globl fault_vectors
	.type fault_vectors, @function
	.balign 2048
fault_vectors:
	.cfi_startproc
	.cfi_undefined x30
	.rept	16
	.balign	128
	mrs	x0, esr_el1
	mrs	x1, elr_el1
	mrs	x2, far_el1
	bl	report_fault
1:	wfi
	b	1b
	.endr
	.cfi_endproc
	.size fault_vectors, . - fault_vectors

	.section .note.GNU-stack, "", @progbits
