/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switch.S: where threads begin and change places, and what a fault does.
 */
	.macro	save reg, at
	sd	\reg, \at(sp)
	.cfi_rel_offset \reg, \at
	.endm

	.macro	restore reg, at
	ld	\reg, \at(sp)
	.cfi_restore \reg
	.endm

	.macro	saved what
	\what	s1, 88
	\what	s2, 80
	\what	s3, 72
	\what	s4, 64
	\what	s5, 56
	\what	s6, 48
	\what	s7, 40
	\what	s8, 32
	\what	s9, 24
	\what	s10, 16
	\what	s11, 8
	.endm

	.text
	/* void switch_context(u64 *save_sp, u64 load_sp): what the compiler expects to
	 * survive a call is on the stack that is left, all else is lost. */
	.globl switch_context
	.type switch_context, @function
	.balign 16
switch_context:
	.cfi_startproc
	addi	sp, sp, -112
	.cfi_def_cfa_offset 112
	save	ra, 104
	save	s0, 96
	addi	s0, sp, 112
	saved	save
	sd	sp, (a0)
	mv	sp, a1
	saved	restore
	restore	s0, 96
	restore	ra, 104
	addi	sp, sp, 112
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size switch_context, . - switch_context

	/* A new thread's first switch_context() returns here: s1(s2), the root of the
	 * thread's frames. */
	.globl thread_entry
	.type thread_entry, @function
	.balign 16
thread_entry:
	.cfi_startproc
	.cfi_undefined ra
	li	s0, 0
	mv	a0, s2
	jalr	s1
1:	wfi
	j	1b
	.cfi_endproc
	.size thread_entry, . - thread_entry

	/* Nothing is ever taken but a fault, which is a bug of the guest: say where, and
	 * stop. */
	.globl fault_entry
	.type fault_entry, @function
	.balign 16
fault_entry:
	.cfi_startproc
	.cfi_undefined ra
	csrr	a0, scause
	csrr	a1, sepc
	csrr	a2, stval
	call	report_fault
1:	wfi
	j	1b
	.cfi_endproc
	.size fault_entry, . - fault_entry

	.section .note.GNU-stack, "", @progbits
