/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/devices.h: for `boot --profile`: which devices an emulated guest uses in
 * which phase.  It takes an extra boot, because watching every memory access is
 * slow. */
#ifndef US_CMD_BOOT_DEVICES_H
#define US_CMD_BOOT_DEVICES_H

#include "base/json.h"
#include "boot/uses.h"
#include "cmd/boot/variant.h"

/* Large: paths and tables. */
struct us_boot_devices {
	struct us_plugin_command with;
	struct us_boot_run run;
	struct us_boot_uses uses;
};

/* Boot once; the boot need not finish. */
US_MUST_CHECK int us_boot_devices_run(struct us_boot_devices *d,
				      struct us_boot_variant *v, struct us_err *e);
/* A phase ("[firmware]") is what follows a point. */
struct us_boot_devices_phase {
	const char *name;
	size_t point;
};
void us_boot_devices_print(const struct us_boot_devices *d,
			   const struct us_boot_devices_phase *phase, size_t n);
void us_boot_devices_json(struct us_json *j, const struct us_boot_devices *d,
			  const struct us_boot_devices_phase *phase, size_t n);
void us_boot_devices_fini(struct us_boot_devices *d); /* accepts a zeroed one */

#endif
