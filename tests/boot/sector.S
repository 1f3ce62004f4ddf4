/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sector.S: a boot loader in one sector, in front of a kernel whose bytes follow it as
 * they are to lie in memory.  In real mode it reads them by the firmware (int 13h,
 * extended read: "BIOS Enhanced Disk Drive Specification" 3.0), copies them above 1 MiB,
 * and enters the kernel in protected mode as a multiboot loader does.
 *
 * Set when it is linked: load_address, load_sectors, zero_until (what is behind the
 * bytes), kernel_entry.
 */
#define BUFFER		0x10000 /* 64 KiB below what a PC's firmware uses */
#define AT_ONCE		127	/* sectors: all firmware can */
#define CODE		0x08
#define DATA		0x10
#define MULTIBOOT_MAGIC 0x2badb002

	.code16
	.text
	.globl _start
	.type _start, @function
_start:
	cli
	cld
	xorw	%ax, %ax
	movw	%ax, %ds
	movw	%ax, %ss
	movw	$_start, %sp
	ljmpw	$0, $1f
1:	movb	%dl, drive
	inb	$0x92, %al	/* address line 20 */
	orb	$2, %al
	andb	$0xfe, %al
	outb	%al, $0x92
	movl	$load_sectors, %ebp
	movl	$load_address, %edi

next:	movl	$AT_ONCE, %ecx
	cmpl	%ecx, %ebp
	jae	1f
	movl	%ebp, %ecx
1:	movw	%cx, packet_count
	pushl	%ecx
	pushl	%edi
	movw	$packet, %si
	movb	$0x42, %ah
	movb	drive, %dl
	sti
	int	$0x13
	cli
	jc	fail
	popl	%edi
	popl	%ecx
	addl	%ecx, packet_sector
	subl	%ecx, %ebp
	/* Segments of 4 GiB in real mode; the firmware may have changed them. */
	lgdtl	gdt_pointer
	movl	%cr0, %eax
	orb	$1, %al
	movl	%eax, %cr0
	movw	$DATA, %bx
	movw	%bx, %ds
	movw	%bx, %es
	andb	$0xfe, %al
	movl	%eax, %cr0
	xorw	%bx, %bx
	movw	%bx, %ds
	movw	%bx, %es
	movl	$BUFFER, %esi
	shll	$7, %ecx	/* of sectors: 4 bytes each time */
	addr32 rep movsl
	testl	%ebp, %ebp
	jnz	next

	movl	%cr0, %eax
	orb	$1, %al
	movl	%eax, %cr0
	ljmpl	$CODE, $protected

fail:	hlt
	jmp	fail

	.code32
protected:
	movw	$DATA, %ax
	movw	%ax, %ds
	movw	%ax, %es
	movw	%ax, %ss
	movl	$zero_until, %ecx
	subl	%edi, %ecx
	jbe	1f
	xorl	%eax, %eax
	rep stosb
1:	movl	$MULTIBOOT_MAGIC, %eax
	movl	$information, %ebx
	movl	$kernel_entry, %ecx
	jmp	*%ecx
	.size _start, . - _start

	.balign 4
packet:	.byte	16, 0
packet_count:
	.word	0
	.word	0, BUFFER >> 4
packet_sector:
	.long	1, 0
information:
	.long	0		/* flags: no information */
drive:	.byte	0

	.balign 8
gdt:	.quad	0
	.quad	0x00cf9b000000ffff	/* CODE */
	.quad	0x00cf93000000ffff	/* DATA */
gdt_pointer:
	.word	. - gdt - 1
	.long	gdt

	.org	510
	.word	0xaa55
	.section .note.GNU-stack, "", @progbits
