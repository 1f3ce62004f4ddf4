/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program_regs.h: the registers of a program that calls the kernel, and its memory, at
 * the first instruction of a block of code.
 *
 * QEMU 9.0 and later give them (registers.h).  Older ones give none.  But their code
 * for a block keeps the address of the processor's state in a register of the host's
 * (TCG_AREG0 in tcg/i386/tcg-target.h: rbp), whose value a callback finds as it was,
 * and where a block begins all of the state is in memory.  It begins with the general
 * registers (target/i386/cpu.h, CPUX86State; target/arm/cpu.h, CPUARMState: the same
 * from 6.0 to 8.2).  That this is so is checked each time, by the program counter,
 * which is part of it and known otherwise: where it is another, nothing is read.
 */
#ifndef US_TRACE_PROGRAM_REGS_H
#define US_TRACE_PROGRAM_REGS_H

#include "trace/plugin/registers.h"
#include "trace/syscall_table.h"

/* Does this machine's processor leave the address where a callback finds it? */
#ifdef __x86_64__
#define US_ENV_IN_REGISTER 1
/* name is a callback of QEMU's, us_vcpu_exec, which calls to(vcpu, data, env). */
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
	const uint64_t *env; /* QEMU's state of the vCPU, once it is known to be one */
	void *cpu;	     /* QEMU's, for its memory */
};

/* In the callback that a vCPU starts with.  target: QEMU's name of the architecture. */
void us_program_regs_init(struct us_program_regs *r, const char *target, unsigned vcpu);

/* In a callback before the first instruction of a block, which is at pc: can they be
 * read now?  env: what the callback was given; NULL: nothing. */
bool us_program_regs_begin(struct us_program_regs *r, const uint64_t *env, uint64_t pc);

/* What an ABI has in them.  Values that are not known are 0. */
struct us_program_call {
	uint64_t number, arg[US_SYSCALL_ARGS];
	uint64_t value; /* returned */
	uint64_t sp, root, thread;
	uint64_t behind; /* of x86-64: where the call says that it returns to */
};
/* entered: at the kernel's entry; else where the program goes on. */
void us_program_regs_read(const struct us_program_regs *r, enum us_syscall_abi abi,
			  bool entered, struct us_program_call *ret);
bool us_program_regs_sp(const struct us_program_regs *r, uint64_t *ret);

/* x86: where the table of interrupts is, and its bytes.  False: not known. */
bool us_program_regs_gates(const struct us_program_regs *r, uint64_t *ret_gva,
			   size_t *ret_n);

bool us_program_memory_is_there(const struct us_program_regs *r);
/* n bytes at gva, no more than US_MEMORY_MAX. */
bool us_program_memory_read(const struct us_program_regs *r, uint64_t gva, void *dst,
			    size_t n);

#endif
