/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ends.S: how the threads of ends.c begin; no tables say so.
 */
#define LEVEL_2 8

	.text
	/* The one that called is on a stack that is left for good. */
	.globl own_stack
	.type own_stack, @function
	.balign 16
own_stack:
	mov	sp, x20
	bl	own_thread
1:	wfi
	b	1b
	.size own_stack, . - own_stack

	.globl own_jump
	.type own_jump, @function
	.balign 16
own_jump:
	mov	sp, x20
	mov	x30, x29
	b	jumped_thread
	.size own_jump, . - own_jump

	.globl own_left
	.type own_left, @function
	.balign 16
own_left:
	mov	sp, x20
	bl	left_leaf
	cbz	x20, own_stack
	b	left_thread
	.size own_left, . - own_left

	.type left_leaf, @function
	.balign 16
left_leaf:
	ret
	.size left_leaf, . - left_leaf

	/* exception_return(to): to EL1, with its own stack pointer, all masked; from EL2, if
	 * the guest began there. */
	.globl exception_return
	.type exception_return, @function
	.balign 16
exception_return:
	adrp	x1, boot_level
	ldr	x1, [x1, :lo12:boot_level]
	cmp	x1, #LEVEL_2
	b.eq	1f
	mov	x1, #0x3c5
	msr	spsr_el1, x1
	msr	elr_el1, x0
	eret
1:	hvc	#0
2:	b	2b
	.size exception_return, . - exception_return

	/* context(stack, entry, own_stack, garbage): as switch_context() leaves it: x29,
	 * x30, x19 to x28. */
	.globl context
	.type context, @function
	.balign 16
context:
	sub	x0, x0, #96
	stp	x3, x1, [x0]
	stp	xzr, x2, [x0, #16]
	ret
	.size context, . - context

	.section .note.GNU-stack, "", @progbits
