/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot.S: from multiboot or PVH entry (both 32-bit, flat, paging off) to 64-bit code in
 * the higher half; the real-mode entry of the other vCPUs joins on the way.
 */
#include "layout.h"

#define GPA(symbol) ((symbol) - IMAGE_BASE)

#define MULTIBOOT_MAGIC 0x1badb002
#define MULTIBOOT_FLAGS 0x00010000 /* the header has the load addresses */

#define PAGE_PRESENT_WRITE 0x003
#define PAGE_LARGE	   0x080

#define CR0_PE	 0x00000001
#define CR0_WP	 0x00010000
#define CR0_PG	 0x80000000
#define CR4_PAE	 0x00000020
#define MSR_EFER 0xc0000080
#define EFER_LME 0x00000100

	.section .boot, "ax"
	.balign 4
multiboot_header:
	.long	MULTIBOOT_MAGIC, MULTIBOOT_FLAGS, -(MULTIBOOT_MAGIC + MULTIBOOT_FLAGS)
	.long	multiboot_header	/* is loaded here, */
	.long	image_load		/* the file from here */
	.long	image_load_end		/* to here; */
	.long	image_end		/* zeroes up to here; */
	.long	start32			/* and jump here */

	.section .note.Xen, "a", @note
	.balign 4
	.long	4, 8, 18		/* XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz	"Xen"
	.quad	start32

	.section .boot, "ax"
	.code32
	.globl start32
	.type start32, @function
start32:
	cli
	cld
	/* The identity mapping that this code needs: two large pages. */
	movl	$(GPA(pdpt_low) + PAGE_PRESENT_WRITE), GPA(pml4)
	movl	$(GPA(pd_low) + PAGE_PRESENT_WRITE), GPA(pdpt_low)
	movl	$(PAGE_PRESENT_WRITE + PAGE_LARGE), GPA(pd_low)
	movl	$(0x200000 + PAGE_PRESENT_WRITE + PAGE_LARGE), GPA(pd_low) + 8
	/* The image at IMAGE_BASE, page by page. */
	movl	$(GPA(pdpt_high) + PAGE_PRESENT_WRITE), GPA(pml4) + 511 * 8
	movl	$(GPA(pd_high) + PAGE_PRESENT_WRITE), GPA(pdpt_high) + 510 * 8
	movl	$(GPA(pt_high) + PAGE_PRESENT_WRITE), GPA(pd_high)
	movl	$(GPA(pt_high) + 4096 + PAGE_PRESENT_WRITE), GPA(pd_high) + 8
	movl	$(image_load + PAGE_PRESENT_WRITE), %eax
1:	movl	%eax, %edi
	andl	$0xfffff000, %edi
	shrl	$9, %edi
	movl	%eax, GPA(pt_high)(%edi)
	addl	$4096, %eax
	cmpl	$image_end, %eax
	jb	1b

enter_long_mode:
	movl	%cr4, %eax
	orl	$CR4_PAE, %eax
	movl	%eax, %cr4
	movl	$GPA(pml4), %eax
	movl	%eax, %cr3
	movl	$MSR_EFER, %ecx
	rdmsr
	orl	$EFER_LME, %eax
	wrmsr
	movl	%cr0, %eax
	orl	$(CR0_PG | CR0_WP | CR0_PE), %eax
	movl	%eax, %cr0
	lgdtl	gdt_pointer
	ljmpl	$SELECTOR_CODE64, $start64
	.size start32, . - start32

	.code64
start64:
	movl	$SELECTOR_DATA, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	movq	$start_high, %rax
	jmp	*%rax

	.balign 8
gdt:	.quad	0
	.quad	0x00cf9b000000ffff	/* SELECTOR_CODE32 */
	.quad	0x00cf93000000ffff	/* SELECTOR_DATA */
	.quad	0x00af9b000000ffff	/* SELECTOR_CODE64 */
gdt_pointer:
	.word	. - gdt - 1
	.long	gdt

	/* Copied to TRAMPOLINE_GPA: runs in real mode with CS = TRAMPOLINE_GPA / 16. */
	.globl trampoline, trampoline_end
	.code16
trampoline:
	cli
	cld
	xorl	%eax, %eax
	movw	%ax, %ds
	lgdtl	TRAMPOLINE_GPA + (trampoline_gdt_pointer - trampoline)
	movl	%cr0, %eax
	orl	$CR0_PE, %eax
	movl	%eax, %cr0
	ljmpl	$SELECTOR_CODE32, $trampoline32
trampoline_gdt_pointer:
	.word	gdt_pointer - gdt - 1
	.long	gdt
trampoline_end:

	.code32
trampoline32:
	movl	$SELECTOR_DATA, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	jmp	enter_long_mode

	/* Every vCPU comes here, and takes a number; the first is the boot vCPU. */
	.text
	.code64
	.type start_high, @function
start_high:
	.cfi_startproc
	.cfi_undefined rip
	movl	$1, %edi
	lock xaddl %edi, vcpu_arrivals
	testl	%edi, %edi
	jnz	1f
	movq	$boot_stack_top, %rsp
	xorl	%ebp, %ebp
	call	boot_main
1:	cmpl	$MAX_VCPUS, %edi
	jb	start_vcpu
2:	cli
	hlt
	jmp	2b
	.cfi_endproc
	.size start_high, . - start_high

	/* start_vcpu(vcpu): kmain(vcpu) on the vCPU's own stack; the root of its frames. */
	.globl start_vcpu
	.type start_vcpu, @function
start_vcpu:
	.cfi_startproc
	.cfi_undefined rip
	movl	%edi, %eax
	shlq	$STACK_VCPU_SHIFT, %rax
	movq	$(STACK_AREA + STACK_SLOT), %rsp
	addq	%rax, %rsp
	xorl	%ebp, %ebp
	call	vcpu_init
	movl	%eax, %edi
	call	kmain
1:	cli
	hlt
	jmp	1b
	.cfi_endproc
	.size start_vcpu, . - start_vcpu

	.data
	.globl vcpu_arrivals
	.balign 4
vcpu_arrivals:
	.long	0

	.bss
	.balign 4096
	.globl pml4
pml4:	.skip	4096
pdpt_low: .skip	4096
pd_low:	.skip	4096
pdpt_high: .skip 4096
pd_high: .skip	4096
pt_high: .skip	2 * 4096
	.skip	8192
boot_stack_top:

	.section .note.GNU-stack, "", @progbits
