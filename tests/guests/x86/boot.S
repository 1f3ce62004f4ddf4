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
#define CR4_LA57 0x00001000
#define CPUID_7_LA57 0x00010000 /* in ecx */
#define CPUID_LONG_MODE 0x20000000 /* of 0x80000001, in edx */
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
	movl	$GPA(boot_stack_top), %esp
	movl	$0x80000001, %eax
	cpuid
	testl	$CPUID_LONG_MODE, %edx
	jnz	1f
	call	no_long_mode
1:
	/* The identity mapping that this code needs: two large pages. */
	movl	$(GPA(pdpt_low) + PAGE_PRESENT_WRITE), GPA(top_table)
	movl	$(GPA(pd_low) + PAGE_PRESENT_WRITE), GPA(pdpt_low)
	movl	$(PAGE_PRESENT_WRITE + PAGE_LARGE), GPA(pd_low)
	movl	$(0x200000 + PAGE_PRESENT_WRITE + PAGE_LARGE), GPA(pd_low) + 8
	/* The image at IMAGE_BASE, page by page. */
	movl	$(GPA(pdpt_high) + PAGE_PRESENT_WRITE), GPA(top_table) + 511 * 8
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
	movl	$GPA(top_table), %edi
	movl	%cr4, %esi
	orl	$CR4_PAE, %esi
	xorl	%eax, %eax
	cpuid
	cmpl	$7, %eax
	jb	1f
	movl	$7, %eax
	xorl	%ecx, %ecx
	cpuid
	testl	$CPUID_7_LA57, %ecx
	jz	1f
	/* Five levels: the old ones at both ends, and where the stacks are then. */
	orl	$CR4_LA57, %esi
	movl	$(GPA(top_table) + PAGE_PRESENT_WRITE), %eax
	movl	$GPA(pml5), %edi
	movl	%eax, (%edi)
	movl	%eax, ((STACK_AREA_5 >> 48) & 511) * 8(%edi)
	movl	%eax, 511 * 8(%edi)
	movl	$(STACK_AREA_5 >> 32), GPA(stack_area) + 4
1:	movl	%esi, %cr4
	movl	%edi, %cr3
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

	/* A 64-bit image on a 32-bit processor: it says so, and stays busy in 32-bit code. */
	.type no_long_mode, @function
no_long_mode:
	pushl	%esi
	movl	$no_long_mode_text, %esi
1:	movw	$0x3fd, %dx
	inb	%dx, %al
	testb	$0x20, %al
	jz	1b
	lodsb
	movw	$0x3f8, %dx
	outb	%al, %dx
	testb	%al, %al
	jnz	1b
2:	pause
	jmp	2b
	popl	%esi
	ret
	.size no_long_mode, . - no_long_mode
no_long_mode_text:
	.asciz	"NO LONG MODE\n"

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
	.globl startup_code, startup_code_end
	.code16
startup_code:
	cli
	cld
	xorl	%eax, %eax
	movw	%ax, %ds
	lgdtl	TRAMPOLINE_GPA + (startup_gdt_pointer - startup_code)
	movl	%cr0, %eax
	orl	$CR0_PE, %eax
	movl	%eax, %cr0
	ljmpl	$SELECTOR_CODE32, $startup32
startup_gdt_pointer:
	.word	gdt_pointer - gdt - 1
	.long	gdt
startup_code_end:

	.code32
startup32:
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
	jae	2f
	leaq	start_vcpu(%rip), %rax
	addq	image_slide(%rip), %rax
	jmp	*%rax
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
	movq	stack_area, %rsp
	leaq	STACK_SLOT(%rsp,%rax), %rsp
	subq	$stack_skew, %rsp
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
	.globl stack_area
	.balign 8
stack_area:
	.quad	STACK_AREA
	.globl vcpu_arrivals
vcpu_arrivals:
	.long	0

	.bss
	.balign 4096
	.globl top_table
top_table:	.skip	4096
pml5:	.skip	4096
pdpt_low: .skip	4096
pd_low:	.skip	4096
pdpt_high: .skip 4096
pd_high: .skip	4096
pt_high: .skip	2 * 4096
	.skip	8192
boot_stack_top:

	.section .note.GNU-stack, "", @progbits
