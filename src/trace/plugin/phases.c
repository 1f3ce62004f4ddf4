/* SPDX-License-Identifier: GPL-2.0-or-later */
/* phases.c: see phases.h. */
#include "trace/plugin/phases.h"

#include "trace/phase_mark.h"
#include "trace/plugin/translate.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int fd = -1;

int us_phases_start(const char *path)
{
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : 0;
}

static struct us_phase_vcpu tree_of(unsigned i, uint64_t before)
{
	const struct us_tracker *t = &us_plugin.vcpu[i].tracker;
	uint64_t insns = *t->insns - before;
	return (struct us_phase_vcpu){
		.node = t->tree.node,
		.tree = { .n_node = t->vcpu->n_node,
			  .node = t->vcpu->node,
			  .rest = insns > t->vcpu->charged ? insns - t->vcpu->charged
							   : 0 },
	};
}

/* If the file is full, there are no more marks, and the phase continues. */
void us_phases_mark(uint32_t point, unsigned vcpu, uint64_t before)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct us_phase_vcpu v[US_COUNTS_MAX_VCPU];
	if (fd < 0)
		return;
	pthread_mutex_lock(&lock);
	unsigned n = us_plugin.counts->n_seen;
	for (unsigned i = 0; i < n; i++)
		v[i] = tree_of(i, i == vcpu ? before : 0);
	if (us_phase_mark_write(fd, point, v, n) < 0) {
		close(fd);
		fd = -1;
	}
	pthread_mutex_unlock(&lock);
}
