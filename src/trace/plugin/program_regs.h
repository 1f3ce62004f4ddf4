/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program_regs.h: the registers and memory of a program that calls the kernel, at the
 * first instruction of a block of code.
 *
 * QEMU 9.0 and later give registers to plugins (registers.h); older versions do not.
 * But their code for a block keeps the address of the processor's state in a host
 * register (TCG_AREG0 in tcg/i386/tcg-target.h: rbp), which a callback finds unchanged,
 * and at the start of a block all of the state is in memory.  The state begins with the
 * general registers (target/i386/cpu.h, CPUX86State; target/arm/cpu.h, CPUARMState: the
 * same from 6.0 to 8.2).  This is verified each time: the program counter is part of
 * the state and is also known otherwise.  If they differ, nothing is read.
 */
#ifndef US_TRACE_PROGRAM_REGS_H
#define US_TRACE_PROGRAM_REGS_H

#include "trace/plugin/registers.h"
#include "trace/syscall_table.h"

/* Can a callback find the address in a register on this host? */
#ifdef __x86_64__
#define US_ENV_IN_REGISTER 1
/* name: a callback for QEMU, us_vcpu_exec, which calls to(vcpu, data, env). */
#define US_ENV_CALLBACK(name, to)                                                      \
	__asm__(".text\n"                                                              \
		".type " #name ", @function\n" #name ":\n"                             \
		"	mov %rbp, %rdx\n"                                                    \
		"	jmp " #to "\n"                                                 \
		".size " #name ", . - " #name "\n");                                   \
	us_vcpu_exec name __attribute__((__visibility__("hidden")))
#else
#define US_ENV_IN_REGISTER 0
#define US_ENV_CALLBACK(name, to)                                                      \
	static void name(unsigned vcpu, void *data)                                    \
	{                                                                              \
		to(vcpu, data, NULL);                                                  \
	}
#endif

struct us_program_regs_arch;

struct us_program_regs {
	const struct us_program_regs_arch *arch;
	struct us_registers registers;
	const uint64_t *env; /* QEMU's state of the vCPU, once verified */
	void *cpu;	     /* QEMU's CPU object, to read memory */
};

/* Call this in the callback for a vCPU's start.  target: QEMU's name of the
 * architecture. */
void us_program_regs_init(struct us_program_regs *r, const char *target, unsigned vcpu);

/* Call this in a callback before the first instruction, at pc, of a block: can
 * registers be read now?  env: from the callback; NULL: none. */
bool us_program_regs_begin(struct us_program_regs *r, const uint64_t *env, uint64_t pc);

/* The values of a system call, by its ABI.  Unknown values are 0. */
struct us_program_call {
	uint64_t number, arg[US_SYSCALL_ARGS];
	uint64_t value; /* returned */
	uint64_t sp, root, thread;
	uint64_t behind; /* x86-64: the return address that the call has saved */
};
/* entered: at the kernel's entry; else where the program continues. */
void us_program_regs_read(const struct us_program_regs *r, enum us_syscall_abi abi,
			  bool entered, struct us_program_call *ret);
bool us_program_regs_sp(const struct us_program_regs *r, uint64_t *ret);

/* Is an x86 processor in long mode, as 64-bit kernels need it, or is it not known? */
bool us_program_regs_is_long(const struct us_program_regs *r);
/* x86: address and size in bytes of the interrupt table.  False: not known. */
bool us_program_regs_gates(const struct us_program_regs *r, uint64_t *ret_gva,
			   size_t *ret_n);

bool us_program_memory_is_there(const struct us_program_regs *r);
/* Read n bytes at gva, at most US_MEMORY_MAX. */
bool us_program_memory_read(const struct us_program_regs *r, uint64_t gva, void *dst,
			    size_t n);

#endif
