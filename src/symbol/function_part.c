/* SPDX-License-Identifier: GPL-2.0-or-later */
/* function_part.c: see function_part.h. */
#include "symbol/function_part.h"

#include <string.h>

size_t us_function_cold_length(const char *name)
{
	const char *p = strstr(name, ".cold");
	if (!p || p == name)
		return 0;
	return p[5] == '\0' || p[5] == '.' ? (size_t)(p - name) : 0;
}

bool us_is_return_trampoline(const char *name)
{
	/* Linux: arch/.../kernel/{rethook,kprobes,ftrace}*. */
	static const char *const trampolines[] = { "arch_rethook_trampoline",
						   "__kretprobe_trampoline",
						   "kretprobe_trampoline",
						   "return_to_handler",
						   "kretprobe_trampoline_holder" };
	for (size_t i = 0; i < sizeof(trampolines) / sizeof(*trampolines); i++)
		if (!strcmp(name, trampolines[i]))
			return true;
	return false;
}

bool us_is_function_part(const char *name)
{
	return us_is_return_trampoline(name) || us_function_cold_length(name);
}
