/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spin.S: void spin_with_fp(u64 fp, u64 iterations): a loop with a frame pointer of the
 * caller's choice; 0 means the one that is there.
 */
	.text
	.globl spin_with_fp
	.type spin_with_fp, @function
	.balign 64
spin_with_fp:
	.cfi_startproc
	addi	sp, sp, -16
	.cfi_def_cfa_offset 16
	sd	ra, 8(sp)
	.cfi_offset ra, -8
	sd	s0, 0(sp)
	.cfi_offset s0, -16
	addi	s0, sp, 16
	beqz	a0, 1f
	mv	s0, a0
1:	li	t0, 3
2:	mul	t1, t1, t0
	add	t1, t1, a1
	addi	a1, a1, -1
	bnez	a1, 2b
	ld	s0, 0(sp)
	.cfi_restore s0
	ld	ra, 8(sp)
	.cfi_restore ra
	addi	sp, sp, 16
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size spin_with_fp, . - spin_with_fp

	.section .note.GNU-stack, "", @progbits
