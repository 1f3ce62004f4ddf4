/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The path of a kernel from its entry: the first byte says of which processor, the
 * others are its code. */
#include "boot/entry_path.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define START 0x100000U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t machines[] = { EM_X86_64, EM_386, EM_AARCH64, EM_RISCV };
	struct us_boot_calls calls;
	if (size < 2)
		return 0;
	size_t n = size - 1;
	uint8_t *code = malloc(n);
	if (!code)
		return 0;
	memcpy(code, data + 1, n);
	struct us_elf_segment s = { .type = PT_LOAD,
				    .flags = PF_X,
				    .vaddr = START,
				    .paddr = START,
				    .memsz = n,
				    .filesz = n };
	const struct us_elf_file f = { .bytes = code,
				       .size = n,
				       .is64 = (data[0] & 3) != 1,
				       .machine = machines[data[0] & 3],
				       .segment = &s,
				       .n_segment = 1 };
	us_boot_follow_entry(&f, START, &calls);
	if (calls.n > US_BOOT_MAX_CALLS)
		abort();
	free(code);
	return 0;
}
