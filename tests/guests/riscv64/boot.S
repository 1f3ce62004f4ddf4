/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot.S: from where the image was loaded, with translation off, in S-mode above an SBI
 * (or in M-mode: machine.S), to the higher half; the other vCPUs join on the way.
 */
#include "layout.h"

	.section .head, "ax"
	.globl _start
_start:	ld	t0, machine_mode
	beqz	t0, supervisor_boot
	tail	machine_boot
	.globl supervisor_boot
supervisor_boot:
	csrw	sie, zero
	/* OpenSBI 1.1 may let a hart go before it has noted where to: here, then. */
	lla	t0, boot_begun
	li	t1, 1
	amoswap.w.aqrl t1, t1, (t0)
	bnez	t1, translate
	lla	t0, bss_start
	lla	t1, bss_end
1:	sd	zero, (t0)
	addi	t0, t0, 8
	bltu	t0, t1, 1b
	lla	t0, boot_hart
	sd	a0, (t0)
	lla	sp, boot_stack_top
	li	s0, 0
	call	build_tables
	j	translate

	.globl start_other
	.balign 4
start_other:
	csrw	sie, zero
translate:
	ld	t0, boot_satp
	ld	t1, start_high_address
	sfence.vma
	csrw	satp, t0
	sfence.vma
	jr	t1
	.balign 8
start_high_address:
	.quad	start_high

	/* Every vCPU comes here, and takes a number; the first is the boot vCPU. */
	.text
	.type start_high, @function
start_high:
	.cfi_startproc
	.cfi_undefined ra
	li	s0, 0
	lla	t0, vcpu_arrivals
	li	a0, 1
	amoadd.w.aqrl a0, a0, (t0)
	bnez	a0, 2f
	lla	sp, boot_stack_top
	li	t0, IMAGE_BASE - IMAGE_GPA
	lla	t1, image_to_gva
	sd	t0, (t1)
	call	boot_main
2:	li	t0, MAX_VCPUS
	bgeu	a0, t0, 3f
	lla	t0, start_vcpu
	ld	t1, image_slide
	add	t0, t0, t1
	jr	t0
3:	wfi
	j	3b
	.cfi_endproc
	.size start_high, . - start_high

	/* start_vcpu(vcpu): kmain(vcpu) on the vCPU's own stack; the root of its frames. */
	.globl start_vcpu
	.type start_vcpu, @function
start_vcpu:
	.cfi_startproc
	.cfi_undefined ra
	ld	t0, stack_area
	li	t1, STACK_SLOT
	add	t0, t0, t1
	slli	t1, a0, STACK_VCPU_SHIFT
	add	sp, t0, t1
	li	s0, 0
	call	vcpu_init
	call	kmain
1:	wfi
	j	1b
	.cfi_endproc
	.size start_vcpu, . - start_vcpu

	/* Set when a guest is linked: see paging.h. */
	.section .rodata
	.balign 8
	.globl address_bits, large_pages, image_size
address_bits:	.quad	guest_address_bits
large_pages:	.quad	guest_large_pages
image_size:	.quad	image_bytes

	.data
	.balign 8
boot_begun:	.quad	0

	.bss
	.balign 16
	.globl vcpu_arrivals, boot_hart
boot_hart:	.skip	8
vcpu_arrivals:	.skip	8
	.skip	16384
boot_stack_top:

	.section .note.GNU-stack, "", @progbits
