/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program.h: the guest trampoline on x86-64: its addresses, and its program's own code.
 */
#ifndef GUEST_PROGRAM_H
#define GUEST_PROGRAM_H

/* At this address in both address spaces: the page by which programs enter, the table
 * of interrupts, and of each vCPU its own page and the stack that it enters on. */
#define TRAMPOLINE  0xfffffe0000000000
#define TABLE_PAGE  (TRAMPOLINE + 0x1000)
#define VCPU_PAGE   (TRAMPOLINE + 0x2000)
#define ENTRY_STACK (TRAMPOLINE + 0x4000) /* its end */

/* The program's, below the kernel: what is at 0 is the boot code's.  It is user_base,
 * when it is linked. */
#define USER_BASE 0x10000000

/* The program's page tables are behind the kernel's, as Linux has it. */
#define PAIR_BIT 0x1000

/* Of a vCPU's page, by which gs points at it in the kernel. */
#define VCPU_USER_RSP	0
#define VCPU_KERNEL_RSP 8

#define GATE_VECTOR	   0x80
#define SYSCALL_NUMBER	   0x100 /* where an interrupt has its vector */
#define SELECTOR_USER_DATA 0x2b
#define SELECTOR_USER_CODE 0x33
#define SELECTOR_TSS	   0x38

/* The program, and the work that the kernel does for it, are interrupted. */
#define INTERRUPTS_ON()	 __asm__ volatile("sti" ::: "memory")
#define INTERRUPTS_OFF() __asm__ volatile("cli" ::: "memory")
#define BEFORE_STORE(in) ""
#define TICK(in)                                                                       \
	LINE(in, "timer_vector")                                                       \
	LINE(in, "interrupt_vector")                                                   \
	LINE(in, "interrupt_return")                                                   \
	LINE(in, "kernel_interrupt")                                                   \
	LINE(in "  ", "user_trap")                                                     \
	LINE(in "    ", "timer_eoi")
#define ENTERED_BY(in)                                                                 \
	LINE(in, "gate_vector")                                                        \
	LINE(in, "syscall_vector")                                                     \
	LINE(in, "syscall_return")                                                     \
	CALLED_BY(in, "kernel_interrupt") CALLED_BY(in, "kernel_syscall")

#define PROGRAM_START                                                                  \
	".cfi_undefined rip\n"                                                         \
	"	xorl %ebp, %ebp\n"                                                           \
	"	call user_main\n"                                                            \
	"	ud2\n"
#define CALL_REGISTER "rax"
/* By a gate, and once more by a system call. */
#define CALL_INSTRUCTION "int $0x80\n\tmovl $1, %%eax\n\tsyscall"
#define CALL_DESTROYS	 "rcx", "r11", "memory"

#endif
