/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/late.h: where a guest is that has not come to where it was to come. */
#ifndef US_CMD_BOOT_LATE_H
#define US_CMD_BOOT_LATE_H

#include "cmd/boot/variant.h"

/* Print a stack of each vCPU on standard error, as `uniscope dump` does; ctx is the
 * struct us_boot_variant.  It waits for a few seconds at most. */
void us_boot_late(void *ctx, pid_t pid);

#endif
