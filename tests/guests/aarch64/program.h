/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program.h: the guest trampoline on aarch64: its addresses, and its program's own
 * code.
 */
#ifndef GUEST_PROGRAM_H
#define GUEST_PROGRAM_H

/* At this address in both address spaces. */
#define TRAMPOLINE 0xffffffffbffff000

#define USER_BASE 0x10000 /* user_base, when it is linked */

#define BEFORE_STORE(in) ""
#define TICK(in)	 ""
#define INTERRUPTS_ON()	 ((void)0)
#define INTERRUPTS_OFF() ((void)0)
#define ENTERED_BY(in)                                                                 \
	LINE(in, "user_return") LINE(in, "user_vector") CALLED_BY(in, "kernel_entry")

/* Registers of the program, on the kernel's stack. */
#define FRAME_X30   240
#define FRAME_SP    248
#define FRAME_PC    256
#define FRAME_FLAGS 264
#define FRAME_BYTES 272

#define PROGRAM_START                                                                  \
	".cfi_undefined x30\n"                                                         \
	"	mov x29, xzr\n"                                                              \
	"	bl user_main\n"                                                              \
	"	brk #0\n"
#define CALL_REGISTER	 "x0"
#define CALL_INSTRUCTION "svc #0"
#define CALL_DESTROYS	 "memory"

#endif
