/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/boot/list.h: the file of `boot --compare`, which is JSON:
 *
 * { "runs": 10,
 *   "variants": [
 *     { "name": "bios", "command": ["qemu-system-x86_64", "-kernel", "k.elf"] },
 *     { "name": "qboot", "command": [...], "until": ["kmain"], "elf": ["k.elf"],
 *       "by": "plugin" }
 *   ] }
 *
 * Paths are relative to the working directory of uniscope, as in any command.
 */
#ifndef US_CMD_BOOT_LIST_H
#define US_CMD_BOOT_LIST_H

#include "cmd/boot/variant.h"

#include <jansson.h>

#define US_BOOT_MAX_VARIANTS 16
#define US_BOOT_MAX_ARGS     256
#define US_BOOT_MAX_RUNS     1000

struct us_boot_list {
	json_t *json; /* owns the strings */
	struct us_boot_listed {
		struct us_boot_variant boot;
		struct us_symbol_files symbols;
		char *argv[US_BOOT_MAX_ARGS + 1];
	} * v;
	size_t n;
	size_t n_run; /* 0: not in the file */
};

/* -EINVAL: a mistake in the file; *e names the line, the variant and the key. */
US_MUST_CHECK int us_boot_list_read(const char *path, struct us_boot_list *ret,
				    struct us_err *e);
void us_boot_list_fini(struct us_boot_list *l); /* accepts a zeroed one */

#endif
