/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sector.S: a boot sector that works and beats in 16-bit code, whose segment begins at
 * 0x7c00: in real mode, or (PROTECTED) by a descriptor in protected mode.
 */
#define COM1	 0x3f8
#define COM1_LSR 0x3fd
#define EMPTY	 0x20
#define CODE	 0x08
#define DATA	 0x10

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
#ifdef PROTECTED
	lgdtl	gdt_pointer
	movl	%cr0, %eax
	orb	$1, %al
	movl	%eax, %cr0
	ljmpw	$CODE, $(protected - _start)
protected:
	movw	$DATA, %ax
	movw	%ax, %ds
	movw	%ax, %ss
#else
	ljmpw	$(0x7c00 >> 4), $(real - _start)
real:
#endif
	movw	$ready, %si
	call	print
1:	call	work
	movw	$beat, %si
	call	print
	jmp	1b
	.size _start, . - _start

	.type work, @function
work:
	movl	$20000000, %ecx
1:	decl	%ecx
	jnz	1b
	ret
	.size work, . - work

	.type print, @function
print:
	movw	$COM1_LSR, %dx
1:	inb	%dx, %al
	testb	$EMPTY, %al
	jz	1b
	lodsb
	testb	%al, %al
	jz	2f
	movw	$COM1, %dx
	outb	%al, %dx
	jmp	print
2:	ret
	.size print, . - print

ready:	.asciz	"READY vcpus=1\n"
beat:	.asciz	"BEAT 1\n"

	.balign 8
gdt:	.quad	0
	.quad	0x00009b007c00ffff	/* CODE: 16 bits, from 0x7c00 */
	.quad	0x000093000000ffff	/* DATA */
gdt_pointer:
	.word	. - gdt - 1
	.long	gdt

	.org	510
	.word	0xaa55
	.section .note.GNU-stack, "", @progbits
