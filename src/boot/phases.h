/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * phases.h: the phases that boots of all kinds have, and by how much boots of several
 * variants differ in them.
 *
 * A phase ends where the next one begins that all runs have come to, the last one with
 * the last point that is wanted: together they are the whole.
 */
#ifndef US_BOOT_PHASES_H
#define US_BOOT_PHASES_H

#include "base/rank.h"
#include "boot/run.h"

enum us_boot_phase {
	US_BOOT_IN_VMM,	     /* until the guest's first instruction */
	US_BOOT_IN_FIRMWARE, /* until a disk's first sector, or the kernel's entry */
	US_BOOT_IN_LOADER,   /* from that sector to the kernel's entry */
	US_BOOT_IN_KERNEL,
	US_N_BOOT_PHASE,
};
const char *us_boot_phase_name(enum us_boot_phase phase);

/* A variant, by its runs, and what is found of it. */
struct us_boot_side {
	const struct us_boot_plan *plan;
	const struct us_boot_run *run;
	size_t n_run;
	/* Results: ns. */
	struct us_estimate total, phase[US_N_BOOT_PHASE];
	bool has_phase[US_N_BOOT_PHASE];
	/* How much longer than the first variant's; the first has none. */
	struct us_estimate later, later_in[US_N_BOOT_PHASE];
	bool in_both[US_N_BOOT_PHASE];
};

/*
 * Fill in the results of n variants.  Of all their differences together one is found
 * that is none in no more than US_RANK_LEVEL of such comparisons (rank.h).
 * 0 or -ENOMEM.
 */
US_MUST_CHECK int us_boot_sides_measure(struct us_boot_side *side, size_t n);

#endif
