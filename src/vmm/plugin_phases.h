/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin_phases.h: the file in which a boot's trees of calls are kept as they were when
 * the guest passed a point: what was counted in a phase is what they have at its end
 * and had not at its beginning.
 *
 * Marks are added at its end, each by one write: by QEMU's plugin at the instruction
 * that is the point, by uniscope when it hears what the VMM writes.  Little-endian.  A
 * reader trusts nothing in it, and the last mark may be cut short.
 *
 *	struct us_phase_mark, then for each vCPU
 *		struct us_phase_tree, struct us_counts_node [n_node]
 */
#ifndef US_VMM_PLUGIN_PHASES_H
#define US_VMM_PLUGIN_PHASES_H

#include "vmm/plugin_counts.h"

#define US_PHASE_MAGIC "USPHASE1" /* 8 bytes, no NUL */

struct us_phase_mark {
	char magic[8];
	uint64_t size;	/* bytes of it all, this included */
	uint32_t point; /* what was passed */
	uint32_t n_vcpu;
};

struct us_phase_tree {
	uint32_t n_node;
	uint32_t node; /* where it is */
	uint64_t rest; /* instructions that belong there, and are not in the nodes */
};

#endif
