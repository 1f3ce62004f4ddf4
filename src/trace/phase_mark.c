/* SPDX-License-Identifier: GPL-2.0-or-later */
/* phase_mark.c: see phase_mark.h. */
#include "trace/phase_mark.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

int us_phase_mark_write(int fd, uint32_t point, const struct us_phase_vcpu *v,
			unsigned n)
{
	struct us_phase_mark m = { .size = sizeof(m), .point = point, .n_vcpu = n };
	struct iovec part[1 + 2 * US_COUNTS_MAX_VCPU] = { { &m, sizeof(m) } };
	if (n > US_COUNTS_MAX_VCPU)
		return -EINVAL;
	memcpy(m.magic, US_PHASE_MAGIC, sizeof(m.magic));
	for (unsigned i = 0; i < n; i++) {
		size_t nodes = v[i].tree.n_node * sizeof(*v[i].node);
		part[1 + 2 * i] = (struct iovec){ (void *)(uintptr_t)&v[i].tree,
						  sizeof(v[i].tree) };
		part[2 + 2 * i] = (struct iovec){ (void *)(uintptr_t)v[i].node, nodes };
		m.size += sizeof(v[i].tree) + nodes;
	}
	ssize_t done = writev(fd, part, (int)(1 + 2 * n));
	if (done < 0)
		return -errno;
	return (uint64_t)done == m.size ? 0 : -ENOSPC;
}
