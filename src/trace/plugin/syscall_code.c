/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscall_code.c: see syscall_code.h. */
#include "trace/plugin/syscall_code.h"

#include <string.h>

/*
 * syscall; int 0x80; and syscall or sysenter before an int 0x80, which is what 32-bit
 * programs execute in Linux's vDSO.  They have no other use for these two: wherever
 * they are executed, Linux returns to the vDSO.
 */
static bool is_x86(const uint8_t *code, struct us_syscall_insn *ret)
{
	bool syscall = code[0] == 0x0f && code[1] == 0x05;
	bool sysenter = code[0] == 0x0f && code[1] == 0x34;
	bool in_vdso = code[2] == 0xcd && code[3] == 0x80;
	*ret = (struct us_syscall_insn){ .abi = US_ABI_I386, .n = 2 };
	if ((syscall || sysenter) && in_vdso) {
		ret->gate = syscall ? US_GATE_VDSO_SYSCALL : US_GATE_VDSO_SYSENTER;
		ret->n = 4;
		return true;
	}
	if (syscall)
		ret->abi = US_ABI_X86_64;
	return syscall || (code[0] == 0xcd && code[1] == 0x80);
}

/* sysret, iret, sysexit, with prefixes for the operand size. */
static bool is_x86_return(const uint8_t *code, size_t n)
{
	size_t prefix = n > 1 && (code[0] == 0x48 || code[0] == 0x66);
	code += prefix;
	n -= prefix;
	return (n == 1 && code[0] == 0xcf) ||
	       (n == 2 && code[0] == 0x0f && (code[1] == 0x07 || code[1] == 0x35));
}

/* svc. */
static bool is_aarch64(const uint8_t *code, struct us_syscall_insn *ret)
{
	*ret = (struct us_syscall_insn){ .abi = US_ABI_AARCH64, .n = 4 };
	return code[3] == 0xd4 && !(code[2] & 0xe0) && (code[0] & 0x1f) == 1;
}

/* eret, eretaa, eretab. */
static bool is_aarch64_return(const uint8_t *code, size_t n)
{
	uint32_t insn = 0;
	if (n == sizeof(insn))
		memcpy(&insn, code, sizeof(insn));
	return insn == 0xd69f03e0 || insn == 0xd69f0bff || insn == 0xd69f0fff;
}

/* Exceptions from a 64-bit program: Arm ARM, D1.4.1. */
static bool is_aarch64_entry(uint64_t pc)
{
	return pc >> 63 && (pc & 0x7ff) == 0x400;
}

static const struct us_syscall_code codes[] = {
	{ "x86_64", true, 2, is_x86, NULL, is_x86_return },
	{ "aarch64", false, 4, is_aarch64, is_aarch64_entry, is_aarch64_return },
};

const struct us_syscall_code *us_syscall_code_of(const char *target)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (!strcmp(codes[i].target, target))
			return &codes[i];
	return NULL;
}
