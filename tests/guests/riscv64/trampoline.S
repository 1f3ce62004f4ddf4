/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trampoline.S: the page by which the program enters the kernel and leaves it, as teaching
 * kernels have it: it is mapped far away from the rest, in both address spaces.  No tables.
 */
#include "trampoline.h"

	.macro	all what
	\what	ra, 40(a0)
	\what	sp, 48(a0)
	\what	gp, 56(a0)
	\what	tp, 64(a0)
	\what	t0, 72(a0)
	\what	t1, 80(a0)
	\what	t2, 88(a0)
	\what	s0, 96(a0)
	\what	s1, 104(a0)
	\what	a1, 120(a0)
	\what	a2, 128(a0)
	\what	a3, 136(a0)
	\what	a4, 144(a0)
	\what	a5, 152(a0)
	\what	a6, 160(a0)
	\what	a7, 168(a0)
	\what	s2, 176(a0)
	\what	s3, 184(a0)
	\what	s4, 192(a0)
	\what	s5, 200(a0)
	\what	s6, 208(a0)
	\what	s7, 216(a0)
	\what	s8, 224(a0)
	\what	s9, 232(a0)
	\what	s10, 240(a0)
	\what	s11, 248(a0)
	\what	t3, 256(a0)
	\what	t4, 264(a0)
	\what	t5, 272(a0)
	\what	t6, 280(a0)
	.endm

	.section .text.trampoline, "ax"
	.balign 4096
	.globl trampoline
trampoline:
	.globl user_vector
	.type user_vector, @function
user_vector:
	csrw	sscratch, a0
	li	a0, TRAP_FRAME
	all	sd
	csrr	t0, sscratch
	sd	t0, 112(a0)
	ld	sp, 8(a0)
	ld	tp, 32(a0)
	ld	t0, 16(a0)
	ld	t1, 0(a0)
	sfence.vma
	csrw	satp, t1
	sfence.vma
#ifdef JUMPS
	jr	t0
#else
	jalr	t0
#endif

	/* user_return(satp): it comes here with what user_trap() returns, or has called. */
	.globl user_return
	.type user_return, @function
user_return:
	sfence.vma
	csrw	satp, a0
	sfence.vma
	li	a0, TRAP_FRAME
	all	ld
	ld	a0, 112(a0)
	sret
	.balign 4096

	.section .rodata
	.globl user_image, user_image_end
	.balign 8
user_image:
	.incbin USER_BINARY
user_image_end:

	.section .note.GNU-stack, "", @progbits
