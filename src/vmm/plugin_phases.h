/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin_phases.h: the file with snapshots of a boot's call trees, one for each point
 * that the guest passed.  The counts of a phase are the difference between its end and
 * its beginning.
 *
 * Marks are appended, each with one write: by QEMU's plugin at the instruction that is
 * the point, by uniscope when the VMM prints the point's text.  Little-endian.  A
 * reader trusts nothing in it, and the last mark may be truncated.
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
	uint64_t size;	/* total bytes, this struct included */
	uint32_t point; /* the point that was passed */
	uint32_t n_vcpu;
};

struct us_phase_tree {
	uint32_t n_node;
	uint32_t node; /* the vCPU's node */
	uint64_t rest; /* instructions that belong to that node and are not in it yet */
};

#endif
