/* SPDX-License-Identifier: GPL-2.0-or-later */
/* phase_mark.h: writes a mark to the file of plugin_phases.h. */
#ifndef US_TRACE_PHASE_MARK_H
#define US_TRACE_PHASE_MARK_H

#include "vmm/plugin_phases.h"

/* A vCPU's tree at this moment. */
struct us_phase_vcpu {
	struct us_phase_tree tree;
	const struct us_counts_node *node; /* tree.n_node of them */
};

/* Append a mark to fd, which was opened with O_APPEND, with at most US_COUNTS_MAX_VCPU
 * vCPUs.  Does not allocate.  0 or -errno; it may then be truncated. */
int us_phase_mark_write(int fd, uint32_t point, const struct us_phase_vcpu *v,
			unsigned n);

#endif
