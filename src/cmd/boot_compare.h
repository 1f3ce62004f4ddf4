/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot_compare.h: several ways to boot, which is the sooner, and where.
 *
 * The file, which is JSON:
 *
 *	{ "runs": 10,
 *	  "variants": [
 *	    { "name": "bios", "command": ["qemu-system-x86_64", "-kernel", "k.elf"] },
 *	    { "name": "qboot", "command": [...], "until": ["kmain"], "elf": ["k.elf"] }
 *] }
 *
 * Paths are those of the folder in which uniscope runs, as in any command.
 */
#ifndef US_CMD_BOOT_COMPARE_H
#define US_CMD_BOOT_COMPARE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct us_boot_compare_opts {
	size_t n_run; /* of each; 0: as the file says, or 10 */
	uint64_t timeout_ns;
	bool json;
};

/* Boots all in turn, A B C A B C, and prints what they took. -EINVAL: the file has a
 * mistake, *e says where. */
US_MUST_CHECK int us_boot_compare(const char *path,
				  const struct us_boot_compare_opts *o,
				  struct us_err *e);

#endif
