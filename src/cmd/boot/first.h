/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/first.h: the first function of a kernel that has none of the usual names. */
#ifndef US_CMD_BOOT_FIRST_H
#define US_CMD_BOOT_FIRST_H

#include "cmd/boot/variant.h"

/*
 * Find it: where the plugin is, by a boot that looks at what the entry calls; else by
 * the image's code.  Sets v->first to what the user is told of it.  *ret->n_address 0:
 * none is known, which is no error.  -errno: that boot cannot be made.
 */
US_MUST_CHECK int us_boot_first_find(struct us_boot_variant *v,
				     struct us_boot_known *ret, struct us_err *e);

#endif
