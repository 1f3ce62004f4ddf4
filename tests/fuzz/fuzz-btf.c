/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hostile type information of a kernel. */
#include "linux/kernel_btf.h"

#include <stdint.h>

static volatile size_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const types[] = { "module", "mod_kallsyms", "list_head",
					     "module_memory", "mod_arch_specific" };
	static const char *const members[] = { "list",	     "name", "mem", "symtab",
					       "orc_unwind", "base", "x" };
	struct us_btf b;
	if (size > 4096 || us_btf_open(data, size, &b) < 0)
		return 0;
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		uint32_t type = us_btf_struct(&b, types[t]);
		sink += us_btf_size(&b, type);
		for (size_t m = 0; m < sizeof(members) / sizeof(members[0]); m++) {
			struct us_btf_member found;
			uint32_t n = 0;
			if (!us_btf_member(&b, type, members[m], &found))
				continue;
			sink += found.size + us_btf_size(&b, found.type);
			sink += us_btf_element(&b, found.type, &n) + n;
		}
	}
	us_btf_close(&b);
	return 0;
}
