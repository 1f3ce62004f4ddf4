/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/compare.h: compares several ways to boot: which is faster, and in which
 * phase. */
#ifndef US_CMD_BOOT_COMPARE_H
#define US_CMD_BOOT_COMPARE_H

#include "cmd/boot/picture.h"

struct us_boot_compare_opts {
	size_t n_run; /* runs of each; 0: as in the file, or 10 */
	uint64_t timeout_ns;
	const char *by; /* for variants without "by" in the file; or NULL */
	bool json;
	struct us_boot_picture *picture;
};

/* Boots the variants of a file (cmd/boot/list.h) in turn, A B C A B C, and prints their
 * times.  -EINVAL: the file has a mistake; *e says where. */
US_MUST_CHECK int us_boot_compare(const char *path,
				  const struct us_boot_compare_opts *o,
				  struct us_err *e);

#endif
