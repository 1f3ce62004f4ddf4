/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/compare.h: several ways to boot, which is the sooner, and where. */
#ifndef US_CMD_BOOT_COMPARE_H
#define US_CMD_BOOT_COMPARE_H

#include "cmd/boot/picture.h"

struct us_boot_compare_opts {
	size_t n_run; /* of each; 0: as the file says, or 10 */
	uint64_t timeout_ns;
	const char *by; /* of those for which the file says nothing; or NULL */
	bool json;
	struct us_boot_picture *picture;
};

/* Boots all of a file (cmd/boot/list.h) in turn, A B C A B C, and prints what they
 * took. -EINVAL: the file has a mistake, *e says where. */
US_MUST_CHECK int us_boot_compare(const char *path,
				  const struct us_boot_compare_opts *o,
				  struct us_err *e);

#endif
