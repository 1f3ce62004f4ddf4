/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * phases.h: the phases that all kinds of boots have, and how boots of several variants
 * differ in them.
 *
 * A phase ends where the next phase begins that all runs have reached; the kernel's
 * ends at the last wanted point.  If not all runs were seen to reach the kernel, nobody
 * knows where the phase before it ends: then it is unknown what that, and all until the
 * last wanted point, belongs to.  Together they are the whole boot.
 */
#ifndef US_BOOT_PHASES_H
#define US_BOOT_PHASES_H

#include "base/rank.h"
#include "boot/run.h"

enum us_boot_phase {
	US_BOOT_IN_VMM,	     /* up to the guest's first instruction */
	US_BOOT_IN_FIRMWARE, /* up to a disk's first sector, or the kernel's entry */
	US_BOOT_IN_LOADER,   /* from that sector to the kernel's entry */
	US_BOOT_IN_KERNEL,
	US_BOOT_UNKNOWN, /* to the last wanted point; it is compared with nothing */
	US_N_BOOT_PHASE,
};
const char *us_boot_phase_name(enum us_boot_phase phase);

/* The runs of a variant, and their results. */
struct us_boot_side {
	const struct us_boot_plan *plan;
	const struct us_boot_run *run;
	size_t n_run;
	/* Results: ns. */
	struct us_estimate total, phase[US_N_BOOT_PHASE];
	bool has_phase[US_N_BOOT_PHASE];
	/* Difference from the first variant; not set for the first one. */
	struct us_estimate later, later_in[US_N_BOOT_PHASE];
	bool in_both[US_N_BOOT_PHASE];
};

/*
 * Fill in the results of n variants.  If none of them differ, a difference is reported
 * in at most US_RANK_LEVEL of such comparisons (rank.h).  0 or -ENOMEM.
 */
US_MUST_CHECK int us_boot_sides_measure(struct us_boot_side *side, size_t n);

#endif
