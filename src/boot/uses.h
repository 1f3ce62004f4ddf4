/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uses.h: how often an emulated guest has accessed ports and device memory, by point of
 * its boot.
 */
#ifndef US_BOOT_USES_H
#define US_BOOT_USES_H

#include "vmm/plugin_boot.h"

#include <stddef.h>

#define US_BOOT_USES_MOST 4

struct us_boot_uses {
	size_t n;
	struct us_boot_use use[US_MAX_USE]; /* device is NUL-terminated */
};

/* Read them from the plugin's file; nothing in it is trusted. */
void us_boot_uses_read(const struct us_boot_file *f, struct us_boot_uses *ret);

/* The most accessed ports, or devices, of one phase. */
struct us_boot_used {
	uint64_t n; /* all accesses */
	struct {
		const struct us_boot_use *use; /* for a device, its lowest page */
		uint64_t n;		       /* accesses to all its pages */
	} most[US_BOOT_USES_MOST];	       /* n 0: no more */
};
enum us_boot_used_kind {
	US_USED_PORTS,
	US_USED_MEMORY,
	US_N_USED,
};
/* From this point until the next one was passed. */
void us_boot_uses_since(const struct us_boot_uses *u, size_t point,
			struct us_boot_used ret[static US_N_USED]);

#endif
