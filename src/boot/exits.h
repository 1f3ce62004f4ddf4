/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exits.h: why a guest left the processor to KVM during its boot, phase by phase. */
#ifndef US_BOOT_EXITS_H
#define US_BOOT_EXITS_H

#include "backend/bpf/boot_events.h"

#define US_BOOT_MOST 4 /* ports, and pages, that are listed for each phase */

struct us_boot_exits {
	bool known;
	/* KVM emulates the guest's instructions: only port I/O and device memory. */
	bool emulated;
	uint64_t n[US_N_EXITS][US_N_EXIT];
	struct us_boot_access port[US_N_EXITS][US_BOOT_MOST];
	struct us_boot_access page[US_N_EXITS][US_BOOT_MOST];
};

const char *us_exit_phase_name(enum us_exit_phase phase);
/* Read them for the current boot. */
void us_boot_exits_read(struct us_boot_events *b, struct us_boot_exits *ret);

#endif
