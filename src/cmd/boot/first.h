/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/first.h: the first function of a kernel that has none of the usual names. */
#ifndef US_CMD_BOOT_FIRST_H
#define US_CMD_BOOT_FIRST_H

#include "cmd/boot/variant.h"

/*
 * Find it: with the plugin, by a boot that notes what the entry calls; else from the
 * image's code.  Sets v->first to what the user is told about it.  *ret->n_address 0:
 * none was found, which is not an error.  -errno: that boot failed.
 */
US_MUST_CHECK int us_boot_first_find(struct us_boot_variant *v,
				     struct us_boot_known *ret, struct us_err *e);

#endif
