/* SPDX-License-Identifier: GPL-2.0-or-later */
/* linux-mappings.h: where an invented kernel's mappings have their members. */
#ifndef US_TEST_LINUX_MAPPINGS_H
#define US_TEST_LINUX_MAPPINGS_H

#include "linux/mappings.h"

#define TEST_MM 0xffff888000000000ULL /* an mm_struct, at the begin of all */

static const struct us_linux_mappings_layout test_mappings_layout = {
	.tree = true,
	.first = 64,
	.count = 72,
	.vdso = 80,
	.has_vdso = true,
	.uprobes = 88,
	.uprobes_at = 40,
	.has_uprobes = true,
	.range = { .pivot = 8, .slot = 128, .n_slot = 16 },
	.arange = { .pivot = 8, .slot = 80, .n_slot = 10 },
	.start = 0,
	.end = 8,
	.flags = 32,
	.offset = 40,
	.file = 48,
	.next = 16,
	.size = 56,
	.dentry = 24,
	.mount = 16,
	.parent = 24,
	.name = 40,
	.name_length = 36,
	.mount_root = 0,
	.mounted = 32,
	.mount_parent = 16,
	.mount_point = 24,
};

#endif
