/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscall_code.c: see syscall_code.h. */
#include "trace/plugin/syscall_code.h"

#include <string.h>

/* syscall; int 0x80.  Not sysenter: it does not come back behind itself. */
static bool is_x86(const uint8_t *code, enum us_syscall_abi *ret)
{
	bool syscall = code[0] == 0x0f && code[1] == 0x05;
	*ret = syscall ? US_ABI_X86_64 : US_ABI_I386;
	return syscall || (code[0] == 0xcd && code[1] == 0x80);
}

/* svc. */
static bool is_aarch64(const uint8_t *code, enum us_syscall_abi *ret)
{
	*ret = US_ABI_AARCH64;
	return code[3] == 0xd4 && !(code[2] & 0xe0) && (code[0] & 0x1f) == 1;
}

static const struct us_syscall_code codes[] = {
	{ "x86_64", true, 2, is_x86 },
	{ "aarch64", false, 4, is_aarch64 },
};

const struct us_syscall_code *us_syscall_code_of(const char *target)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (!strcmp(codes[i].target, target))
			return &codes[i];
	return NULL;
}
