/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmm_threads.c: see vmm_threads.h. */
#include "backend/vmm_threads.h"

#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_THREADS 65536 /* a bound; with more, each look says that they changed */

void us_vmm_threads_open(struct us_vmm_threads *t, pid_t pid)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	t->tasks = pid > 0 ? opendir(path) : NULL;
	t->known = 0;
}

void us_vmm_threads_close(struct us_vmm_threads *t)
{
	if (t->tasks)
		closedir(t->tasks);
	t->tasks = NULL;
}

/* A number that says which threads there are, in any order; 0: not known. */
static uint64_t sum_of(DIR *tasks)
{
	uint64_t sum = 0;
	const struct dirent *d;
	unsigned n = 0;
	rewinddir(tasks);
	while (n < MOST_THREADS && (d = readdir(tasks))) {
		uint64_t tid = strtoull(d->d_name, NULL, 10); /* 0: . and .. */
		sum += tid ? us_random_next(&tid) : 0;
		n++;
	}
	return n < MOST_THREADS ? sum : 0;
}

bool us_vmm_threads_changed(struct us_vmm_threads *t)
{
	uint64_t sum = t->tasks ? sum_of(t->tasks) : 0;
	bool same = sum && sum == t->known;
	t->known = sum;
	return !same;
}
