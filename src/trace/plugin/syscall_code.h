/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscall_code.h: the instructions with which programs call the kernel. */
#ifndef US_TRACE_SYSCALL_CODE_H
#define US_TRACE_SYSCALL_CODE_H

#include "trace/syscall_table.h"

#define US_SYSCALL_INSN 4 /* most bytes, with those behind it that are looked at */

/* How the kernel is entered. */
enum us_syscall_gate {
	US_GATE_PLAIN,
	/* By 32-bit programs through Linux's vDSO, with syscall or sysenter.  It has
	 * put one register elsewhere, and the call returns behind the int 0x80 that
	 * follows (arch/x86/entry/vdso/vdso32/system_call.S). */
	US_GATE_VDSO_SYSCALL,
	US_GATE_VDSO_SYSENTER,
};

struct us_syscall_insn {
	uint8_t abi;  /* enum us_syscall_abi */
	uint8_t gate; /* enum us_syscall_gate */
	uint8_t n;    /* bytes from it to where it returns */
};

struct us_syscall_code {
	const char *target;
	bool call_stores; /* a call stores its return address on the stack */
	uint8_t insn;	  /* bytes of such an instruction */
	/* Is it such an instruction?  code: US_SYSCALL_INSN bytes; 0 beyond what is
	 * known. */
	bool (*is_call)(const uint8_t *code, struct us_syscall_insn *ret);
	/* Does the processor say that a kernel entry is at pc?  It is then also the
	 * entry of faults.  NULL: it does not say. */
	bool (*is_entry)(uint64_t pc);
	/* Does this instruction of n bytes return to a program? */
	bool (*is_return)(const uint8_t *code, size_t n);
};

/* NULL: the architecture is not known. */
const struct us_syscall_code *us_syscall_code_of(const char *target);

#endif
