/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/late.h: shows where a guest is that has not reached its goal in time. */
#ifndef US_CMD_BOOT_LATE_H
#define US_CMD_BOOT_LATE_H

#include "cmd/boot/variant.h"

/* Print a stack of each vCPU on standard error, as `uniscope dump` does; ctx: the
 * struct us_boot_variant.  Takes a few seconds at most. */
void us_boot_late(void *ctx, pid_t pid);

#endif
