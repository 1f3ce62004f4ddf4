/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guest.S: what server.c became; see there. */
	.file	"server.c"
	.text
.Ltext0:
	.cfi_sections	.debug_frame
	.file 1 "server.c"
	.align 256
	.globl	naive_copy
	.type	naive_copy, @function
naive_copy:
.LFB1:
	.loc 1 20 1
	.cfi_startproc
	.loc 1 21 2
	.loc 1 21 9
	movq	2097168, %rax
	testq	%rax, %rax
	je	.L1
.L3:
	.loc 1 22 3
.LBB4:
.LBB5:
	.loc 1 15 2
	.loc 1 15 17 is_stmt 0
	movb	$1, 2097152
	.loc 1 16 2 is_stmt 1
	.loc 1 16 17 is_stmt 0
	movq	$2, 2097160
.LBE5:
.LBE4:
	.loc 1 21 9 is_stmt 1
	movq	2097168, %rax
	testq	%rax, %rax
	jne	.L3
.L1:
	.loc 1 23 1 is_stmt 0
	ret
	.cfi_endproc
.LFE1:
	.size	naive_copy, .-naive_copy
	.align 256
	.globl	checksum
	.type	checksum, @function
checksum:
.LFB2:
	.loc 1 26 1 is_stmt 1
	.cfi_startproc
	.loc 1 27 2
	.loc 1 27 9
	movq	2097176, %rax
	testq	%rax, %rax
	je	.L5
.L7:
	.loc 1 28 3
	.loc 1 28 21 is_stmt 0
	movzbl	2097152, %eax
	.loc 1 28 3
	movq	2097184, %rdx
	.loc 1 28 21
	movzbl	%al, %eax
	.loc 1 28 18
	addq	%rdx, %rax
	movq	%rax, 2097184
	.loc 1 27 9 is_stmt 1
	movq	2097176, %rax
	testq	%rax, %rax
	jne	.L7
.L5:
	.loc 1 29 1 is_stmt 0
	ret
	.cfi_endproc
.LFE2:
	.size	checksum, .-checksum
	.align 256
	.globl	walk
	.type	walk, @function
walk:
.LFB3:
	.loc 1 32 1 is_stmt 1
	.cfi_startproc
	.loc 1 33 2
	.loc 1 33 6 is_stmt 0
	movq	2097192, %rax
	.loc 1 33 5
	testq	%rax, %rax
	jne	.L15
	.loc 1 35 2 is_stmt 1
	.loc 1 35 17 is_stmt 0
	movq	$3, 2097200
	ret
.L15:
	.loc 1 32 1
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	.loc 1 34 3 is_stmt 1
	call	walk
	.loc 1 35 2
	.loc 1 35 17 is_stmt 0
	movq	$3, 2097200
	.loc 1 36 1
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE3:
	.size	walk, .-walk
	.align 256
	.globl	serve
	.type	serve, @function
serve:
.LFB4:
	.loc 1 39 1 is_stmt 1
	.cfi_startproc
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	.loc 1 40 2
	call	naive_copy
	.loc 1 41 2
	call	checksum
	.loc 1 42 2
	call	walk
	.loc 1 43 2
	.loc 1 43 17 is_stmt 0
	movq	$4, 2097208
	.loc 1 44 1
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE4:
	.size	serve, .-serve
	.align 256
	.globl	_start
	.type	_start, @function
_start:
.LFB5:
	.loc 1 47 1 is_stmt 1
	.cfi_startproc
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
.L19:
	.loc 1 48 2 discriminator 1
	.loc 1 49 3 discriminator 1
	call	serve
	.loc 1 48 2 discriminator 1
	jmp	.L19
	.cfi_endproc
.LFE5:
	.size	_start, .-_start
.Letext0:
	.section	.debug_info,"",@progbits
.Ldebug_info0:
	.long	0xdc
	.value	0x4
	.long	.Ldebug_abbrev0
	.byte	0x8
	.uleb128 0x1
	.long	.LASF4
	.byte	0xc
	.long	.LASF5
	.long	.LASF6
	.quad	.Ltext0
	.quad	.Letext0-.Ltext0
	.long	.Ldebug_line0
	.uleb128 0x2
	.long	.LASF0
	.byte	0x1
	.byte	0x2e
	.byte	0x2e
	.value	0x100
	.quad	.LFB5
	.quad	.LFE5-.LFB5
	.uleb128 0x1
	.byte	0x9c
	.uleb128 0x2
	.long	.LASF1
	.byte	0x1
	.byte	0x26
	.byte	0x2e
	.value	0x100
	.quad	.LFB4
	.quad	.LFE4-.LFB4
	.uleb128 0x1
	.byte	0x9c
	.uleb128 0x2
	.long	.LASF2
	.byte	0x1
	.byte	0x1f
	.byte	0x2e
	.value	0x100
	.quad	.LFB3
	.quad	.LFE3-.LFB3
	.uleb128 0x1
	.byte	0x9c
	.uleb128 0x3
	.long	.LASF3
	.byte	0x1
	.byte	0x19
	.byte	0x2e
	.value	0x100
	.quad	.LFB2
	.quad	.LFE2-.LFB2
	.uleb128 0x1
	.byte	0x9c
	.uleb128 0x4
	.long	.LASF7
	.byte	0x1
	.byte	0x13
	.byte	0x2e
	.value	0x100
	.quad	.LFB1
	.quad	.LFE1-.LFB1
	.uleb128 0x1
	.byte	0x9c
	.long	0xd6
	.uleb128 0x5
	.long	0xd6
	.quad	.LBB4
	.quad	.LBE4-.LBB4
	.byte	0x1
	.byte	0x16
	.byte	0x3
	.byte	0
	.uleb128 0x6
	.long	.LASF8
	.byte	0x1
	.byte	0xd
	.byte	0x33
	.byte	0x3
	.byte	0
	.section	.debug_abbrev,"",@progbits
.Ldebug_abbrev0:
	.uleb128 0x1
	.uleb128 0x11
	.byte	0x1
	.uleb128 0x25
	.uleb128 0xe
	.uleb128 0x13
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x1b
	.uleb128 0xe
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x10
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x2
	.uleb128 0x2e
	.byte	0
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x88
	.uleb128 0x5
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x2116
	.uleb128 0x19
	.byte	0
	.byte	0
	.uleb128 0x3
	.uleb128 0x2e
	.byte	0
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x88
	.uleb128 0x5
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x2117
	.uleb128 0x19
	.byte	0
	.byte	0
	.uleb128 0x4
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x88
	.uleb128 0x5
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x2117
	.uleb128 0x19
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x5
	.uleb128 0x1d
	.byte	0
	.uleb128 0x31
	.uleb128 0x13
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x58
	.uleb128 0xb
	.uleb128 0x59
	.uleb128 0xb
	.uleb128 0x57
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0x6
	.uleb128 0x2e
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x20
	.uleb128 0xb
	.byte	0
	.byte	0
	.byte	0
	.section	.debug_aranges,"",@progbits
	.long	0x2c
	.value	0x2
	.long	.Ldebug_info0
	.byte	0x8
	.byte	0
	.value	0
	.value	0
	.quad	.Ltext0
	.quad	.Letext0-.Ltext0
	.quad	0
	.quad	0
	.section	.debug_line,"",@progbits
.Ldebug_line0:
	.section	.debug_str,"MS",@progbits,1
.LASF8:
	.string	"put_byte"
.LASF5:
	.string	"server.c"
.LASF7:
	.string	"naive_copy"
.LASF4:
	.string	"GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -gdwarf-4 -gno-variable-location-views -O1 -fno-var-tracking -fno-pie -fno-asynchronous-unwind-tables -fomit-frame-pointer -ffreestanding -fno-stack-protector -fcf-protection=none -fno-optimize-sibling-calls"
.LASF0:
	.string	"_start"
.LASF6:
	.string	"/src/guest"
.LASF1:
	.string	"serve"
.LASF2:
	.string	"walk"
.LASF3:
	.string	"checksum"
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits

/* Added by hand: a function without lines, with a name that wants to be more. */
	.text
	.balign 256
	.globl "evil;<b> name"
	.type "evil;<b> name", @function
"evil;<b> name":
	ret
	.size "evil;<b> name", 16
