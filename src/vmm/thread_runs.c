/* SPDX-License-Identifier: GPL-2.0-or-later */
/* thread_runs.c: see thread_runs.h. */
#include "vmm/thread_runs.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "vmm/proc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 1024u

/* The state first: what it runs from then on is in the counts. */
static int read_thread(int proc, pid_t tid, struct us_thread_run *ret)
{
	char path[48], text[512];
	snprintf(path, sizeof(path), "task/%d/stat", (int)tid);
	if (us_read_file(proc, path, text, sizeof(text)) <= 0)
		return -ENOENT;
	/* The name is in brackets and may contain any character. */
	const char *state = strrchr(text, ')');
	ret->tid = tid;
	ret->sleeps = state && !strncmp(state, ") S", 3);
	snprintf(path, sizeof(path), "task/%d/schedstat", (int)tid);
	if (us_read_file(proc, path, text, sizeof(text)) <= 0)
		return -ENOENT;
	/* Zeroes: this kernel does not keep them. */
	if (sscanf(text, "%" SCNu64 " %*u %" SCNu64, &ret->ran_ns, &ret->turns) != 2 ||
	    !ret->ran_ns || !ret->turns)
		return -ENOTSUP;
	return 0;
}

static int read_all(int proc, DIR *tasks, pid_t pid, struct us_thread_runs *ret)
{
	for (struct dirent *ent; (ent = readdir(tasks));) {
		pid_t tid = (pid_t)strtol(ent->d_name, NULL, 10);
		if (tid <= 0 || tid == pid)
			continue;
		if (ret->n == MAX_THREADS)
			return -E2BIG;
		/* A thread may end, or not have run yet. */
		if (read_thread(proc, tid, &ret->v[ret->n]) == 0)
			ret->n++;
	}
	return ret->n ? 0 : -ENOTSUP;
}

int us_thread_runs_read(pid_t pid, struct us_thread_runs *ret)
{
	*ret = (struct us_thread_runs){ .v = calloc(MAX_THREADS, sizeof(*ret->v)) };
	if (!ret->v)
		return -ENOMEM;
	_cleanup_close_ int proc = us_proc_open(pid);
	DIR *tasks = proc < 0 ? NULL : us_proc_folder(proc, "task");
	if (!tasks)
		return -ENOENT;
	int r = read_all(proc, tasks, pid, ret);
	closedir(tasks);
	return r;
}

void us_thread_runs_fini(struct us_thread_runs *t)
{
	free(t->v);
	*t = (struct us_thread_runs){ 0 };
}

static const struct us_thread_run *find(const struct us_thread_runs *t, pid_t tid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].tid == tid)
			return &t->v[i];
	return NULL;
}

enum us_thread_ran us_thread_ran(const struct us_thread_runs *before,
				 const struct us_thread_runs *after, pid_t tid)
{
	const struct us_thread_run *b = find(before, tid), *a = find(after, tid);
	if (!b || !a)
		return US_THREAD_NOT_KNOWN;
	if (a->ran_ns != b->ran_ns || a->turns != b->turns)
		return US_THREAD_RAN;
	return a->sleeps ? US_THREAD_SLEPT : US_THREAD_NOT_KNOWN;
}

bool us_thread_worked(const struct us_thread_runs *before,
		      const struct us_thread_runs *after, pid_t tid, uint64_t ns,
		      uint64_t turns)
{
	const struct us_thread_run *b = find(before, tid), *a = find(after, tid);
	return b && a && (a->ran_ns - b->ran_ns >= ns || a->turns - b->turns >= turns);
}
