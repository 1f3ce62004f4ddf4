/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscall_code.h: the instructions by which programs call the kernel. */
#ifndef US_TRACE_SYSCALL_CODE_H
#define US_TRACE_SYSCALL_CODE_H

#include "trace/syscall_table.h"

#define US_SYSCALL_INSN 4 /* bytes, at most */

struct us_syscall_code {
	const char *target;
	bool call_stores; /* a call stores its return address on the stack */
	uint8_t insn;	  /* bytes of an instruction that calls the kernel */
	/* Is it one? */
	bool (*is_call)(const uint8_t *code, enum us_syscall_abi *ret);
	/* Does the processor itself say that an entry of the kernel is there?  It is
	 * that of faults, too, then.  NULL: it does not. */
	bool (*is_entry)(uint64_t pc);
	/* Is an instruction of n bytes one that returns to programs? */
	bool (*is_return)(const uint8_t *code, size_t n);
};

/* NULL: the architecture is not known. */
const struct us_syscall_code *us_syscall_code_of(const char *target);

#endif
