/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trampoline.S: the page by which the program enters the kernel and leaves it; it is
 * mapped far away from the rest, and nothing else of the kernel is mapped while the
 * program runs.  The kernel's upper page table is the page before the program's.  No
 * tables of rules.
 */
#include "trampoline.h"

	.macro	upper_half by
	mrs	x30, ttbr1_el1
	\by	x30, x30, #4096
	msr	ttbr1_el1, x30
	isb
	tlbi	vmalle1
	dsb	nsh
	isb
	.endm

	.macro	all what
	\what	x0, x1, [sp, #0]
	\what	x2, x3, [sp, #16]
	\what	x4, x5, [sp, #32]
	\what	x6, x7, [sp, #48]
	\what	x8, x9, [sp, #64]
	\what	x10, x11, [sp, #80]
	\what	x12, x13, [sp, #96]
	\what	x14, x15, [sp, #112]
	\what	x16, x17, [sp, #128]
	\what	x18, x19, [sp, #144]
	\what	x20, x21, [sp, #160]
	\what	x22, x23, [sp, #176]
	\what	x24, x25, [sp, #192]
	\what	x26, x27, [sp, #208]
	\what	x28, x29, [sp, #224]
	.endm

	/* To the program, with the registers that it has on the stack. */
	.macro	leave_kernel
	ldp	x0, x1, [sp, #FRAME_PC]
	msr	elr_el1, x0
	msr	spsr_el1, x1
	ldp	x30, x0, [sp, #FRAME_X30]
	msr	sp_el0, x0
	msr	tpidrro_el0, x30
	all	ldp
	add	sp, sp, #FRAME_BYTES
	mov	x30, #TRAMPOLINE + 0xfff
	sub	x30, x30, #0xfff - (user_return - trampoline)
	br	x30
	.endm

	.section .text.trampoline, "ax"
	.balign 4096
	.globl trampoline
trampoline:
	.rept	8
	.balign	128
	b	kernel_fault
	.endr
	.balign	128
	.globl user_vector
	.type user_vector, @function
user_vector:
	msr	tpidrro_el0, x30
	upper_half sub
	ldr	x30, =kernel_entry
	br	x30
	.size user_vector, . - user_vector
	.rept	7
	.balign	128
	b	kernel_fault
	.endr
	.balign	128
	.type kernel_fault, @function
kernel_fault:
	ldr	x0, =fault_vectors
	br	x0
	.size kernel_fault, . - kernel_fault

	/* The program's x30 is in tpidrro_el0. */
	.globl user_return
	.type user_return, @function
user_return:
	upper_half add
	mrs	x30, tpidrro_el0
	eret
	.size user_return, . - user_return
	.ltorg
	.balign 4096

	.text
	.globl kernel_entry
	.type kernel_entry, @function
kernel_entry:
	sub	sp, sp, #FRAME_BYTES
	all	stp
	mrs	x30, tpidrro_el0
	mrs	x0, sp_el0
	stp	x30, x0, [sp, #FRAME_X30]
	/* Where it is to go on is not kept yet: what is there is from the time before. */
	mov	x0, #0x8000
1:	subs	x0, x0, #1
	b.ne	1b
	mrs	x0, elr_el1
	mrs	x1, spsr_el1
	stp	x0, x1, [sp, #FRAME_PC]
	mov	x0, sp
	bl	user_trap
	leave_kernel
	.size kernel_entry, . - kernel_entry

	/* enter_program(frame): with what is there. */
	.globl enter_program
	.type enter_program, @function
enter_program:
	mov	sp, x0
	leave_kernel
	.size enter_program, . - enter_program

	.section .rodata
	.globl user_image, user_image_end
	.balign 8
user_image:
	.incbin USER_BINARY
user_image_end:

	.section .note.GNU-stack, "", @progbits
