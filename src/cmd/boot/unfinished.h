/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/unfinished.h: why a boot did not pass all its wanted points. */
#ifndef US_CMD_BOOT_UNFINISHED_H
#define US_CMD_BOOT_UNFINISHED_H

#include "cmd/boot/variant.h"

/* The run of this plan is not whole: *e says which point is missing, and what may help.
 * -ETIMEDOUT, or -ECHILD if the VMM ended. */
US_MUST_CHECK int us_boot_unfinished(const struct us_boot_variant *v,
				     const struct us_boot_plan *plan,
				     const struct us_boot_run *run, struct us_err *e);

#endif
