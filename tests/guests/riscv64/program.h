/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program.h: the guest trampoline on riscv64: its addresses, and its program's own
 * code.
 */
#ifndef GUEST_PROGRAM_H
#define GUEST_PROGRAM_H

/* At these addresses in both address spaces, and in the program's alone. */
#define TRAMPOLINE 0x3ffffff000
#define TRAP_FRAME 0x3fffffe000

#define USER_BASE 0x1000 /* user_base, when it is linked: virt's reset vector, too */

#define BEFORE_STORE(in) LINE(in, "before_store")
#define TICK(in)	 ""
#define INTERRUPTS_ON()	 ((void)0)
#define INTERRUPTS_OFF() ((void)0)
/* The page calls user_trap(), or jumps to it: then that calls the page to leave. */
#ifdef JUMPS
#define ENTERED_BY(in) LINE(in, "user_return") LINE(in, "user_vector") TRAP(in)
#else
#define ENTERED_BY(in)                                                                 \
	LINE(in, "user_return") LINE(in, "user_vector") CALLED_BY(in, "user_vector")
#endif

#define PROGRAM_START                                                                  \
	".cfi_undefined ra\n"                                                          \
	"	li s0, 0\n"                                                                  \
	"	call user_main\n"                                                            \
	"	ebreak\n"
#define CALL_REGISTER	 "a0"
#define CALL_INSTRUCTION "ecall"
#define CALL_DESTROYS	 "memory"

#endif
