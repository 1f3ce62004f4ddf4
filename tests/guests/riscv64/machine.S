/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.S: M-mode, of a guest that has no firmware below it (NAME-mret): it enters
 * S-mode by mret, as teaching kernels do, and is what little of an SBI the guest needs.
 * It runs where it was loaded, and nothing is translated.
 */
#include "layout.h"
#include "machine_mode.h"

#define CAUSE_S_ECALL 9
#define DELEGATED     0xb1ff /* all but that */
#define MPP_S	      0x800
#define MPP	      0x1800
#define START_HART    0x48534d
#define NOT_SUPPORTED (-2)
#define NO_SUCH_HART  (-3)
#define WAIT_TICKS    10000000 /* a second: QEMU's timer has 10 MHz */

	.text
	/* From boot.S, each hart; the first goes on there in S-mode. */
	.globl machine_boot
	.type machine_boot, @function
machine_boot:
	lla	t0, machine_trap
	csrw	mtvec, t0
	li	t0, -1
	csrw	pmpaddr0, t0
	li	t0, 0xf		/* all memory is S-mode's too */
	csrw	pmpcfg0, t0
	li	t0, DELEGATED
	csrw	medeleg, t0
	li	t0, 0x222
	csrw	mideleg, t0
	csrw	mie, zero
	li	t0, 7		/* it may read counters */
	csrw	mcounteren, t0
	csrr	a0, mhartid
	lla	a1, supervisor_boot
	beqz	a0, 3f
	li	t0, MAX_VCPUS
1:	bgeu	a0, t0, 1b
	lla	t0, harts
	slli	t1, a0, 4
	add	t0, t0, t1
	li	t1, 1
	sd	t1, (t0)
2:	ld	a1, 8(t0)
	.insn	0x0100000f	/* pause */
	beqz	a1, 2b
3:	csrw	mepc, a1
	call	set_supervisor
	mret
	.size machine_boot, . - machine_boot

	.type set_supervisor, @function
set_supervisor:
	li	t0, MPP
	csrc	mstatus, t0
	li	t0, MPP_S
	csrs	mstatus, t0
	ret
	.size set_supervisor, . - set_supervisor

	/* Calls from S-mode; t0, a0 and a1 are not kept. */
	.type machine_trap, @function
	.balign 4
machine_trap:
	csrr	t0, mcause
	addi	t0, t0, -CAUSE_S_ECALL
1:	bnez	t0, 1b
	li	t0, MACHINE_RETURN
	beq	a7, t0, machine_start
	li	t0, START_HART
	beq	a7, t0, 2f
	li	a0, NOT_SUPPORTED
	j	4f
2:	lla	t0, harts
	slli	a0, a0, 4
	add	t0, t0, a0
	csrw	mscratch, t1
	csrr	a0, time
	li	t1, WAIT_TICKS	/* it may have had no CPU of the host yet */
	add	a0, a0, t1
5:	ld	t1, (t0)
	bnez	t1, 6f
	.insn	0x0100000f	/* pause */
	csrr	t1, time
	bltu	t1, a0, 5b
	csrr	t1, mscratch
	j	3f
6:	csrr	t1, mscratch
	fence
	sd	a1, 8(t0)
	li	a0, 0
	j	4f
3:	li	a0, NO_SUCH_HART
4:	csrr	t0, mepc
	addi	t0, t0, 4
	csrw	mepc, t0
	mret
	.size machine_trap, . - machine_trap

	/* S-mode goes on at a1, with all registers but ra, in which it finds where the
	 * last call of here has returned to, as S-mode has this code. */
	.globl machine_start
	.type machine_start, @function
machine_start:
	csrw	mepc, a1
	call	set_supervisor
	ld	t0, image_to_gva
	add	ra, ra, t0
	mret
	.size machine_start, . - machine_start

	/* Set when a guest is linked. */
	.section .rodata
	.balign 8
	.globl machine_mode
machine_mode:	.quad	guest_machine_mode

	/* Of each hart: is it here; where it is to go.  Not in what boot.S clears. */
	.data
	.balign 8
harts:	.skip	16 * MAX_VCPUS

	.section .note.GNU-stack, "", @progbits
