/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counted.S: functions of counted.c whose instructions are known one by one, and ways
 * from one to the next that compilers seldom make.
 */
#include "layout.h"

	.macro	function name
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	.endm

	.macro	counted name
	function \name
	count	\name
	.endm

	.macro	done name
	.size	\name, . - \name
	.endm

	.arch_extension lse
	/* Four instructions. */
	.macro	count name
	adrp	x16, counts_\name
	add	x16, x16, :lo12:counts_\name
	mov	x17, #1
	stadd	x17, [x16]
	.endm

	.text
	/* Five instructions a call. */
counted hot
	ret
done hot

	/* By a jump to another function. */
counted tail1
	b	tail2
done tail1
counted tail2
	ret
done tail2

	/* By falling into another function. */
counted fall1
	.size	fall1, . - fall1
	.globl	fall2
	.type	fall2, @function
fall2:	count	fall2
	ret
done fall2

	/* By a return that is a jump; and one that is none, by a copy. */
counted push_ret
	mov	x9, x30
	adr	x30, pushed
	ret
done push_ret
counted pushed
	mov	x30, x9
	ret
done pushed

	/* Its loop leads to its first instruction; w0 rounds, six instructions each. */
function top_loop
	count	top_loop_rounds
	subs	w0, w0, #1
	b.ne	top_loop
	ret
done top_loop

	/* A table of jumps within it, as compilers make of a switch; w0: 0 to 3. */
counted table
	adr	x9, 1f
	ldr	x9, [x9, w0, uxtw #3]
	br	x9
2:	nop
3:	nop
4:	nop
5:	ret
	.balign	8
1:	.quad	2b, 3b, 4b, 5b
done table

	/* Its address, by a call of what follows, and by one of a part of its own. */
counted where
	mov	x9, x30
	bl	1f
1:	mov	x0, x30
	bl	2f
	mov	x30, x9
	ret
2:	ret
done where

	/* The stack pointer as a value, with room taken for a while. */
counted moves_stack
	stp	x29, x30, [sp, #-32]!
	str	x19, [sp, #16]
	mov	x19, sp
	sub	sp, sp, #4096
	sub	sp, sp, #1904
	bl	hot
	mov	sp, x19
	bl	hot
	ldr	x19, [sp, #16]
	ldp	x29, x30, [sp], #32
	ret
done moves_stack

	/* int set_place(u64 place[14]); void go_to_place(const u64 place[14]) */
	.macro	place what
	\what	x19, x20, [x0]
	\what	x21, x22, [x0, #16]
	\what	x23, x24, [x0, #32]
	\what	x25, x26, [x0, #48]
	\what	x27, x28, [x0, #64]
	\what	x29, x30, [x0, #80]
	.endm
counted set_place
	place	stp
	mov	x2, sp
	str	x2, [x0, #96]
	mov	w0, #0
	ret
done set_place
counted go_to_place
	place	ldp
	ldr	x2, [x0, #96]
	mov	sp, x2
	mov	w0, #1
	ret
done go_to_place

	/* The vectors: the timer's interrupt, while the stack pointer is EL1's; all else
	 * is a fault. */
	.globl	tick_vectors
	.type	tick_vectors, @function
	.balign	2048
tick_vectors:
	.irp	slot, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	.balign	128
	.if	\slot == 5
	b	tick_entry
	.else
	mrs	x0, esr_el1
	mrs	x1, elr_el1
	mrs	x2, far_el1
	b	report_fault
	.endif
	.endr
	.size	tick_vectors, . - tick_vectors

	/* Goes on in what all interrupts have in common. */
function tick_entry
	stp	x16, x17, [sp, #-16]!
	count	tick_entry
	b	common_entry
done tick_entry
	.macro	registers what
	\what	x0, x1, [sp, #16]
	\what	x2, x3, [sp, #32]
	\what	x4, x5, [sp, #48]
	\what	x6, x7, [sp, #64]
	\what	x8, x9, [sp, #80]
	\what	x10, x11, [sp, #96]
	\what	x12, x13, [sp, #112]
	\what	x14, x15, [sp, #128]
	.endm
counted common_entry
	stp	x29, x30, [sp, #-160]!
	registers stp
	str	x18, [sp, #144]
	bl	tick
	ldr	x18, [sp, #144]
	registers ldp
	ldp	x29, x30, [sp], #160
	ldp	x16, x17, [sp], #16
	eret
done common_entry

	.section .note.GNU-stack, "", @progbits
