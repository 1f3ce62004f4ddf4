/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot.S: from where the image was loaded, with translation off, in EL1 or EL2, to EL1 in
 * the higher half; the other vCPUs join on the way.  The image begins with the header
 * that Linux has, for those who load it as a file without ELF.
 */
#include "layout.h"

#define IMAGE_FLAGS 0x2 /* 4 KiB pages, little-endian */

#define EL2		 0x8
#define HCR_EL1_IS_64BIT 0x80000000
#define SCTLR_OFF	 0x30d00800
#define SCTLR_ON	 0x30d01805 /* translation and both caches */
#define CNTHCT_EL1	 0x3	    /* EL1 may use counter and timer */
#define CPTR_NO_TRAPS	 0x33ff
#define SPSR_EL1_MASKED	 0x3c5

	.section .head, "ax"
	.globl _start
_start:	b	start_boot
	.long	0
	.quad	IMAGE_OFFSET
	.quad	image_bytes
	.quad	IMAGE_FLAGS
	.quad	0, 0, 0
	.ascii	"ARM\x64"
	.long	0

start_boot:
	mrs	x19, CurrentEL
	bl	go_to_el1
	adrp	x0, bss_start
	add	x0, x0, :lo12:bss_start
	adrp	x1, bss_end
	add	x1, x1, :lo12:bss_end
1:	stp	xzr, xzr, [x0], #16
	cmp	x0, x1
	b.lo	1b
	adrp	x0, boot_level
	str	x19, [x0, :lo12:boot_level]
	adrp	x0, boot_stack_top
	add	x0, x0, :lo12:boot_stack_top
	mov	sp, x0
	mov	x29, xzr
	bl	build_tables
	b	translate

	.globl start_other
start_other:
	bl	go_to_el1
translate:
	adrp	x0, translation
	add	x0, x0, :lo12:translation
	ldp	x1, x2, [x0]
	ldp	x3, x4, [x0, #16]
	msr	mair_el1, x1
	msr	tcr_el1, x2
	msr	ttbr0_el1, x3
	msr	ttbr1_el1, x4
	dsb	sy
	tlbi	vmalle1
	ic	iallu
	dsb	sy
	isb
	ldr	x0, =SCTLR_ON
	msr	sctlr_el1, x0
	isb
	ldr	x0, =start_high
	br	x0

	/* Returns in EL1, to the same place. */
go_to_el1:
	mrs	x0, CurrentEL
	cmp	x0, #EL2
	b.ne	1f
	mov	x0, #HCR_EL1_IS_64BIT
	msr	hcr_el2, x0
	adrp	x0, hypervisor_vectors
	add	x0, x0, :lo12:hypervisor_vectors
	msr	vbar_el2, x0
	ldr	x0, =SCTLR_OFF
	msr	sctlr_el1, x0
	mov	x0, #CNTHCT_EL1
	msr	cnthctl_el2, x0
	msr	cntvoff_el2, xzr
	mov	x0, #CPTR_NO_TRAPS
	msr	cptr_el2, x0
	msr	hstr_el2, xzr
	msr	vttbr_el2, xzr
	mrs	x0, midr_el1
	msr	vpidr_el2, x0
	mrs	x0, mpidr_el1
	msr	vmpidr_el2, x0
	mrs	x0, id_aa64pfr0_el1
	ubfx	x0, x0, #24, #4
	cbz	x0, 2f
	mov	x0, #0xf	/* EL1 uses a GIC of version 3 by its registers */
	msr	s3_4_c12_c9_5, x0 /* ICC_SRE_EL2 */
	isb
2:	mov	x0, #SPSR_EL1_MASKED
	msr	spsr_el2, x0
	msr	elr_el2, x30
	eret
1:	msr	daifset, #0xf
	ret
	.ltorg

	/* What is left in EL2, where nothing is translated: hvc, from EL1. */
	.text
	.type hypervisor_vectors, @function
	.balign 2048
hypervisor_vectors:
	.skip	0x400
	b	hypervisor_start
	.size hypervisor_vectors, . - hypervisor_vectors

	/* EL1 goes on at x0, with all registers but x9 and x30, in which it finds where the
	 * last call of here has returned to, as EL1 has this code. */
	.globl hypervisor_start
	.type hypervisor_start, @function
	.balign 16
hypervisor_start:
	msr	elr_el2, x0
	bl	set_el1
	adrp	x9, image_to_gva
	ldr	x9, [x9, :lo12:image_to_gva]
	add	x30, x30, x9
	eret
	.size hypervisor_start, . - hypervisor_start

	.type set_el1, @function
set_el1:
	mov	x9, #SPSR_EL1_MASKED
	msr	spsr_el2, x9
	ret
	.size set_el1, . - set_el1

	/* Every vCPU comes here, and takes a number; the first is the boot vCPU. */
	.text
	.type start_high, @function
start_high:
	.cfi_startproc
	.cfi_undefined x30
	mov	x29, xzr
	adrp	x1, vcpu_arrivals
	add	x1, x1, :lo12:vcpu_arrivals
1:	ldaxr	w0, [x1]
	add	w2, w0, #1
	stlxr	w3, w2, [x1]
	cbnz	w3, 1b
	cbnz	w0, 2f
	adrp	x1, boot_stack_top
	add	x1, x1, :lo12:boot_stack_top
	mov	sp, x1
	ldr	x1, =(IMAGE_BASE - IMAGE_GPA)
	adrp	x2, image_to_gva
	str	x1, [x2, :lo12:image_to_gva]
	bl	boot_main
2:	cmp	w0, #MAX_VCPUS
	b.hs	3f
	adrp	x1, start_vcpu
	add	x1, x1, :lo12:start_vcpu
	adrp	x2, image_slide
	ldr	x2, [x2, :lo12:image_slide]
	add	x1, x1, x2
	br	x1
3:	wfi
	b	3b
	.cfi_endproc
	.size start_high, . - start_high

	/* start_vcpu(vcpu): kmain(vcpu) on the vCPU's own stack; the root of its frames. */
	.globl start_vcpu
	.type start_vcpu, @function
start_vcpu:
	.cfi_startproc
	.cfi_undefined x30
	adrp	x1, stack_area
	ldr	x1, [x1, :lo12:stack_area]
	mov	w0, w0
	add	x1, x1, #STACK_SLOT
	add	x1, x1, x0, lsl #STACK_VCPU_SHIFT
	mov	sp, x1
	mov	x29, xzr
	bl	vcpu_init
	bl	kmain
1:	wfi
	b	1b
	.cfi_endproc
	.size start_vcpu, . - start_vcpu
	.ltorg

	/* Set when a guest is linked: see paging.h and uart.h. */
	.section .rodata
	.balign 8
	.globl page_shift, address_bits, large_pages, image_size
	.globl uart_gpa, gic_distributor_gpa, gic_cpu_gpa, gic_redist_gpa, uart_is_sbsa
page_shift:	.quad	guest_page_shift
address_bits:	.quad	guest_address_bits
large_pages:	.quad	guest_large_pages
image_size:	.quad	image_bytes
uart_gpa:	.quad	guest_uart
gic_distributor_gpa: .quad guest_gic_distributor
gic_cpu_gpa:	.quad	guest_gic_cpu
gic_redist_gpa:	.quad	guest_gic_redist
uart_is_sbsa:	.quad	guest_uart_is_sbsa

	.bss
	.balign 16
	.globl vcpu_arrivals, boot_level
boot_level:	.skip	8
vcpu_arrivals:	.skip	8
	.skip	16384
boot_stack_top:

	.section .note.GNU-stack, "", @progbits
