/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/exits.h: shows the exits of boots. */
#ifndef US_CMD_BOOT_EXITS_H
#define US_CMD_BOOT_EXITS_H

#include "base/json.h"
#include "boot/run.h"

/* By reason and phase, medians of n runs; detailed: also the ports and pages that were
 * used most in the last run (used_most).  Prints nothing if exits were not observed. */
void us_boot_print_exits(const struct us_boot_run *run, size_t n, bool detailed);
void us_boot_json_exits(struct us_json *j, const struct us_boot_run *run, size_t n,
			bool detailed);

#endif
