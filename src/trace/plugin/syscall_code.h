/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscall_code.h: the instructions with which programs call the kernel. */
#ifndef US_TRACE_SYSCALL_CODE_H
#define US_TRACE_SYSCALL_CODE_H

#include "trace/syscall_table.h"

#define US_SYSCALL_INSN 4 /* most bytes */

struct us_syscall_code {
	const char *target;
	bool call_stores; /* a call stores its return address on the stack */
	uint8_t insn;	  /* bytes of such an instruction */
	/* Is it such an instruction? */
	bool (*is_call)(const uint8_t *code, enum us_syscall_abi *ret);
	/* Does the processor say that a kernel entry is at pc?  It is then also the
	 * entry of faults.  NULL: it does not say. */
	bool (*is_entry)(uint64_t pc);
	/* Does this instruction of n bytes return to a program? */
	bool (*is_return)(const uint8_t *code, size_t n);
};

/* NULL: the architecture is not known. */
const struct us_syscall_code *us_syscall_code_of(const char *target);

#endif
