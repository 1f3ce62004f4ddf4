/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arch.c: see arch.h. */
#include "trace/plugin/arch.h"

#include <string.h>

#define X86_RESET_VECTOR 0xfffffff0ULL

static const struct us_plugin_arch archs[] = {
	{ "x86_64", .flow = us_x86_flow, .reset_vector = X86_RESET_VECTOR },
	{ "i386", .flow = us_x86_flow, .reset_vector = X86_RESET_VECTOR },
};

const struct us_plugin_arch *us_plugin_arch_find(const char *target)
{
	for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
		if (!strcmp(target, archs[i].target))
			return &archs[i];
	return NULL;
}
