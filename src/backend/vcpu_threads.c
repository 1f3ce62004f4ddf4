/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vcpu_threads.c: see vcpu_threads.h. */
#include "backend/vcpu_threads.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

void us_vcpu_threads_open(struct us_vcpu_threads *t, const struct us_guest *g)
{
	t->n = g->pid ? g->n_vcpu : 0;
	for (unsigned i = 0; i < t->n; i++) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)g->pid,
			 (int)g->vcpu[i].tid);
		t->stat_fd[i] = g->vcpu[i].tid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	}
}

void us_vcpu_threads_close(struct us_vcpu_threads *t)
{
	for (unsigned i = 0; i < t->n; i++)
		us_closep(&t->stat_fd[i]);
	t->n = 0;
}

uint64_t us_vcpu_threads_busy(const struct us_vcpu_threads *t)
{
	uint64_t busy = 0;
	for (unsigned i = 0; i < t->n; i++) {
		char line[128];
		ssize_t n = t->stat_fd[i] < 0
				    ? 0
				    : pread(t->stat_fd[i], line, sizeof(line) - 1, 0);
		if (n <= 0)
			continue;
		line[n] = '\0';
		/* The name stands in brackets and may hold any character. */
		const char *state = strrchr(line, ')');
		if (state && !strncmp(state, ") R", 3))
			busy |= 1ULL << i;
	}
	return busy;
}
