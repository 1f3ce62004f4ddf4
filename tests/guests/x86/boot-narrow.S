/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot-narrow.S: from multiboot entry to 32-bit code in one of five ways to translate
 * addresses.  With paging the image is mapped at image_base, and its first MiBs also
 * where they are; the stack's neighbouring pages are not neighbours in memory.
 */
#include "layout.h"

#define PD_INDEX(gva) ((gva) >> 22)	      /* two levels */
#define PAE_INDEX(gva) (((gva) >> 21) & 511)  /* of its GiB's directory */

#define PAGE_PRESENT	   0x001
#define PAGE_PRESENT_WRITE 0x003
#define PAGE_LARGE	   0x080

#define CR0_PE	 0x00000001
#define CR0_WP	 0x00010000
#define CR0_PG	 0x80000000
#define CR4_PSE	 0x00000010
#define CR4_PAE	 0x00000020
#define MSR_EFER 0xc0000080
#define EFER_LME 0x00000100

	.section .boot, "ax"
	.balign 4
	.long	0x1badb002, 0, -0x1badb002

	.code32
	.globl start32
	.type start32, @function
start32:
	cli
	cld
	lgdtl	gdt_pointer
	ljmpl	$SELECTOR_CODE32, $1f
1:	movl	$SELECTOR_DATA, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	movl	$paging_mode, %eax
	cmpl	$NARROW_FLAT, %eax
	je	start_high_from_here
	cmpl	$NARROW_LARGE, %eax
	je	large_pages
	ja	long_entries
	.size start32, . - start32

	/* Two levels, 4 bytes an entry: 4 MiB from 0, and the stack. */
two_levels:
	movl	$PAGE_PRESENT_WRITE, %eax
	movl	$low_table, %edi
	movl	$1024, %ecx
1:	stosl
	addl	$4096, %eax
	loop	1b
	movl	$(stack_memory + PAGE_PRESENT_WRITE), %eax
	movl	$stack_table, %edi
	addl	$((NARROW_STACK_PAGES - 1) * 4), %edi
	movl	$NARROW_STACK_PAGES, %ecx
1:	movl	%eax, (%edi)
	addl	$(2 * 4096), %eax
	subl	$4, %edi
	loop	1b
	movl	$(low_table + PAGE_PRESENT_WRITE), %eax
	movl	$(stack_table + PAGE_PRESENT_WRITE), %edx
	xorl	%ebx, %ebx
	jmp	directory

large_pages:
	movl	$(PAGE_PRESENT_WRITE + PAGE_LARGE), %eax
	movl	$(NARROW_STACK_GPA + PAGE_PRESENT_WRITE + PAGE_LARGE), %edx
	movl	$CR4_PSE, %ebx
directory:
	movl	%eax, root
	movl	%eax, root + PD_INDEX(0xc0000000) * 4
	movl	%edx, root + PD_INDEX(NARROW_STACK) * 4
	movl	$root, %ecx
	jmp	turn_paging_on

	/* PAE and long mode, 8 bytes an entry: 2 MiB from 0, and the stack. */
long_entries:
	movl	$PAGE_PRESENT_WRITE, %eax
	movl	$low_table, %edi
1:	movl	%eax, (%edi)
	addl	$4096, %eax
	addl	$8, %edi
	cmpl	$(low_table + 4096), %edi
	jb	1b
	movl	$(stack_memory + PAGE_PRESENT_WRITE), %eax
	movl	$stack_table, %edi
	addl	$((NARROW_STACK_PAGES - 1) * 8), %edi
	movl	$NARROW_STACK_PAGES, %ecx
1:	movl	%eax, (%edi)
	addl	$(2 * 4096), %eax
	subl	$8, %edi
	loop	1b
	movl	$(low_table + PAGE_PRESENT_WRITE), first_gib
	movl	$(low_table + PAGE_PRESENT_WRITE), fourth_gib
	movl	$(stack_table + PAGE_PRESENT_WRITE), \
		fourth_gib + PAE_INDEX(NARROW_STACK) * 8
	/* PAE has no rights in its first level, long mode has. */
	movl	$pointers, %ecx
	movl	$PAGE_PRESENT, %edx
	movl	$CR4_PAE, %ebx
	cmpl	$(NARROW_COMPAT), paging_mode_here
	jne	1f
	movl	$PAGE_PRESENT_WRITE, %edx
	leal	pointers + PAGE_PRESENT_WRITE, %eax
	movl	%eax, root
1:	leal	first_gib(%edx), %eax
	movl	%eax, pointers
	leal	fourth_gib(%edx), %eax
	movl	%eax, pointers + 3 * 8
	cmpl	$(NARROW_COMPAT), paging_mode_here
	jne	turn_paging_on
	movl	$MSR_EFER, %ecx
	rdmsr
	orl	$EFER_LME, %eax
	wrmsr
	movl	$root, %ecx

turn_paging_on:
	movl	%cr4, %eax
	orl	%ebx, %eax
	movl	%eax, %cr4
	movl	%ecx, %cr3
	movl	%cr0, %eax
	orl	$(CR0_PG | CR0_WP | CR0_PE), %eax
	movl	%eax, %cr0
	jmp	1f
1:
start_high_from_here:
	movl	$start_high, %eax
	jmp	*%eax

	.balign 8
gdt:	.quad	0
	.quad	0x00cf9b000000ffff	/* SELECTOR_CODE32: also in long mode, 32 bits */
	.quad	0x00cf93000000ffff	/* SELECTOR_DATA */
gdt_pointer:
	.word	. - gdt - 1
	.long	gdt
paging_mode_here:
	.long	paging_mode

	.text
	.type start_high, @function
start_high:
	.cfi_startproc
	.cfi_undefined eip
	movl	$boot_stack_top, %esp
	xorl	%ebp, %ebp
	call	boot_main
1:	cli
	hlt
	jmp	1b
	.cfi_endproc
	.size start_high, . - start_high

	/* start_vcpu(vcpu): kmain(vcpu) on the vCPU's own stack; the root of its frames. */
	.globl start_vcpu
	.type start_vcpu, @function
start_vcpu:
	.cfi_startproc
	.cfi_undefined eip
	movl	4(%esp), %ecx
	movl	$(stack_memory + NARROW_STACK_PAGES * 4096), %esp
	cmpl	$NARROW_FLAT, paging_mode_there
	je	1f
	movl	$(NARROW_STACK + NARROW_STACK_PAGES * 4096), %esp
1:	xorl	%ebp, %ebp
	subl	$12 + stack_skew, %esp
	pushl	%ecx
	call	kmain
1:	cli
	hlt
	jmp	1b
	.cfi_endproc
	.size start_vcpu, . - start_vcpu

	.section .rodata
	.balign 4
paging_mode_there:
	.long	paging_mode

	/* Where they are in memory: the tables hold such addresses. */
	.section .boot.tables, "aw", @nobits
	.balign 4096
root:	.skip	4096
low_table: .skip 4096
stack_table: .skip 4096
pointers: .skip	4096
first_gib: .skip 4096
fourth_gib: .skip 4096
stack_memory: .skip 2 * NARROW_STACK_PAGES * 4096
	.bss
	.skip	8192
boot_stack_top:

	.section .note.GNU-stack, "", @progbits
