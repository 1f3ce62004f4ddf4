/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arch.c: see arch.h. */
#include "linux/arch.h"

#include "guest/page_table_aarch64.h"
#include "linux/image.h"

#include <stddef.h>

static const struct us_linux_arch archs[US_N_ARCH] = {
	[US_ARCH_X86_64] = { .arch = US_ARCH_X86_64,
			     .linked_at = US_LINUX_LINKED_AT,
			     .slide_most = US_LINUX_MAP_END - US_LINUX_MAP_START,
			     .modules_start = US_LINUX_MODULES_START,
			     .modules_end = US_LINUX_MODULES_END,
			     .top_table = "init_top_pgt" },
	/* The upper part of the kernel's half: its size follows from the build. */
	[US_ARCH_AARCH64] = { .arch = US_ARCH_AARCH64,
			      .slide_most = 1ULL << 47,
			      .modules_start = 0xffff800000000000,
			      .modules_end = 0xffffffffff000000,
			      .top_table = "swapper_pg_dir",
			      .upper = true },
	[US_ARCH_RISCV64] = { .arch = US_ARCH_RISCV64,
			      .linked_at = 0xffffffff80000000,
			      .slide_most = 1ULL << 30,
			      .modules_start = 0xffffffff00000000,
			      .modules_end = 0xfffffffffffff000,
			      .top_table = "swapper_pg_dir" },
};

const struct us_linux_arch *us_linux_arch(enum us_arch arch)
{
	return arch < US_N_ARCH ? &archs[arch] : NULL;
}

uint64_t us_linux_page_size(const struct us_space *s)
{
	uint32_t bits = 0;
	if (s->mode == US_PAGING_AARCH64)
		bits = us_aarch64_page_bits(s->control, true);
	return bits ? 1ULL << bits : 4096;
}
