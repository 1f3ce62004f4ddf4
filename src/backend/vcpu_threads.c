/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vcpu_threads.c: see vcpu_threads.h. */
#include "backend/vcpu_threads.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static int open_file(pid_t pid, pid_t tid, const char *name)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
	return tid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

/* TCG may run all vCPUs in one thread, whose state says nothing about any of them. */
static bool runs_another(const struct us_guest *g, unsigned vcpu)
{
	for (unsigned i = 0; i < g->n_vcpu; i++)
		if (i != vcpu && g->vcpu[i].tid == g->vcpu[vcpu].tid)
			return true;
	return false;
}

void us_vcpu_threads_open(struct us_vcpu_threads *t, const struct us_guest *g)
{
	us_vcpu_threads_close(t);
	t->n = g->pid ? g->n_vcpu : 0;
	for (unsigned i = 0; i < t->n; i++) {
		t->stat_fd[i] = runs_another(g, i)
					? -1
					: open_file(g->pid, g->vcpu[i].tid, "stat");
		t->schedstat_fd[i] = open_file(g->pid, g->vcpu[i].tid, "schedstat");
	}
}

void us_vcpu_threads_close(struct us_vcpu_threads *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		us_closep(&t->stat_fd[i]);
		us_closep(&t->schedstat_fd[i]);
	}
	t->n = 0;
}

static bool read_line(int fd, char *line, size_t size)
{
	ssize_t n = fd < 0 ? 0 : pread(fd, line, size - 1, 0);
	line[n > 0 ? n : 0] = '\0';
	return n > 0;
}

uint64_t us_vcpu_threads_busy(const struct us_vcpu_threads *t)
{
	uint64_t busy = 0;
	for (unsigned i = 0; i < t->n; i++) {
		char line[128];
		if (!read_line(t->stat_fd[i], line, sizeof(line)))
			continue;
		/* The name is in brackets and may contain any character. */
		const char *state = strrchr(line, ')');
		if (state && !strncmp(state, ") R", 3))
			busy |= 1ULL << i;
	}
	return busy;
}

bool us_vcpu_threads_known(const struct us_vcpu_threads *t, unsigned vcpu)
{
	return vcpu < t->n && t->stat_fd[vcpu] >= 0;
}

bool us_vcpu_threads_time(const struct us_vcpu_threads *t, unsigned vcpu,
			  struct us_vcpu_thread_time *ret)
{
	char line[96], *end;
	if (vcpu >= t->n || !read_line(t->schedstat_fd[vcpu], line, sizeof(line)))
		return false;
	ret->ran = strtoull(line, &end, 10);
	ret->waited = strtoull(end, NULL, 10);
	return ret->ran > 0; /* 0: the kernel does not keep these sums */
}
