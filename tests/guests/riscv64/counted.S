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

	/* Four instructions. */
	.macro	count name
	lla	t5, counts_\name
	li	t6, 1
	amoadd.d zero, t6, (t5)
	.endm

	.text
	/* Five instructions a call. */
counted hot
	ret
done hot

	/* By a jump to another function. */
counted tail1
	j	tail2
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
	mv	t1, ra
	lla	ra, pushed
	ret
done push_ret
counted pushed
	mv	ra, t1
	ret
done pushed

	/* Its loop leads to its first instruction; a0 rounds, six instructions each. */
function top_loop
	count	top_loop_rounds
	addiw	a0, a0, -1
	bnez	a0, top_loop
	ret
done top_loop

	/* A table of jumps within it, as compilers make of a switch; a0: 0 to 3. */
counted table
	slli	a0, a0, 3
	lla	t1, 1f
	add	t1, t1, a0
	ld	t1, (t1)
	jr	t1
2:	nop
3:	nop
4:	nop
5:	ret
	.balign	8
1:	.quad	2b, 3b, 4b, 5b
done table

	/* Its address, by a call of what follows, and by one of a part of its own. */
counted where
	mv	t1, ra
	jal	ra, 1f
1:	mv	a0, ra
	jal	ra, 2f
	mv	ra, t1
	ret
2:	ret
done where

	/* The stack pointer as a value, with room taken for a while; the registers are
	 * kept by others, which are called by t0 and by a jump, as gcc does to save
	 * room. */
counted moves_stack
	jal	t0, save_registers
	mv	s1, sp
	li	t1, -6000
	add	sp, sp, t1
	jal	ra, hot
	mv	sp, s1
	jal	ra, hot
	j	restore_registers
done moves_stack
function save_registers
	addi	sp, sp, -32
	sd	ra, 24(sp)
	sd	s1, 16(sp)
	jr	t0
done save_registers
function restore_registers
	ld	ra, 24(sp)
	ld	s1, 16(sp)
	addi	sp, sp, 32
	ret
done restore_registers

	/* int set_place(u64 place[14]); void go_to_place(const u64 place[14]) */
	.macro	place what
	\what	ra, 0(a0)
	\what	s0, 8(a0)
	\what	s1, 16(a0)
	\what	s2, 24(a0)
	\what	s3, 32(a0)
	\what	s4, 40(a0)
	\what	s5, 48(a0)
	\what	s6, 56(a0)
	\what	s7, 64(a0)
	\what	s8, 72(a0)
	\what	s9, 80(a0)
	\what	s10, 88(a0)
	\what	s11, 96(a0)
	\what	sp, 104(a0)
	.endm
counted set_place
	place	sd
	li	a0, 0
	ret
done set_place
counted go_to_place
	place	ld
	li	a0, 1
	ret
done go_to_place

	/* Where all traps enter: the timer's interrupt goes on in what all interrupts have
	 * in common. */
function tick_entry
	addi	sp, sp, -16
	sd	t5, 0(sp)
	sd	t6, 8(sp)
	count	tick_entry
	csrr	t5, scause
	bltz	t5, 1f
	csrr	a0, scause
	csrr	a1, sepc
	csrr	a2, stval
	call	report_fault
1:	j	common_entry
done tick_entry
	.macro	registers what
	\what	ra, 0(sp)
	\what	t0, 8(sp)
	\what	t1, 16(sp)
	\what	t2, 24(sp)
	\what	t3, 32(sp)
	\what	t4, 40(sp)
	\what	a0, 48(sp)
	\what	a1, 56(sp)
	\what	a2, 64(sp)
	\what	a3, 72(sp)
	\what	a4, 80(sp)
	\what	a5, 88(sp)
	\what	a6, 96(sp)
	\what	a7, 104(sp)
	.endm
counted common_entry
	addi	sp, sp, -112
	registers sd
	jal	ra, tick
	registers ld
	addi	sp, sp, 112
	ld	t5, 0(sp)
	ld	t6, 8(sp)
	addi	sp, sp, 16
	sret
done common_entry

	.section .note.GNU-stack, "", @progbits
