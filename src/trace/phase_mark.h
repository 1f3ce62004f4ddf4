/* SPDX-License-Identifier: GPL-2.0-or-later */
/* phase_mark.h: a mark in the file of plugin_phases.h. */
#ifndef US_TRACE_PHASE_MARK_H
#define US_TRACE_PHASE_MARK_H

#include "vmm/plugin_phases.h"

/* A vCPU's tree as it is now. */
struct us_phase_vcpu {
	struct us_phase_tree tree;
	const struct us_counts_node *node; /* tree.n_node of them */
};

/* One more, at the end of fd, which was opened to append, of at most
 * US_COUNTS_MAX_VCPU vCPUs.  Does not allocate.  0 or -errno: it may be cut short. */
int us_phase_mark_write(int fd, uint32_t point, const struct us_phase_vcpu *v,
			unsigned n);

#endif
