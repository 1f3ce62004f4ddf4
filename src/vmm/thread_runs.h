/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread_runs.h: has a thread of another process run between two moments?
 *
 * The host's scheduler counts how often and for how long each thread had a CPU
 * (/proc/PID/task/TID/schedstat, Documentation/scheduler/sched-stats.rst).  The counts
 * of a thread that sleeps are exact, so if they are the same at a later moment at which
 * it sleeps, it has not run in between.
 */
#ifndef US_VMM_THREAD_RUNS_H
#define US_VMM_THREAD_RUNS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct us_thread_run {
	pid_t tid;
	bool sleeps; /* it slept when, or before, the counts were read */
	uint64_t ran_ns, turns;
};

/* All threads of a process at one moment, but its first one. */
struct us_thread_runs {
	struct us_thread_run *v; /* owned */
	size_t n;
};

/* Setup path.  ret: not initialized; call fini() in any case.  -ENOENT: the process is
 * gone; -ENOTSUP: the kernel does not count; -E2BIG: too many threads; -ENOMEM. */
US_MUST_CHECK int us_thread_runs_read(pid_t pid, struct us_thread_runs *ret);
void us_thread_runs_fini(struct us_thread_runs *t);

enum us_thread_ran {
	US_THREAD_NOT_KNOWN, /* it was not there both times, or does not sleep now */
	US_THREAD_SLEPT,     /* all the time */
	US_THREAD_RAN,
};
enum us_thread_ran us_thread_ran(const struct us_thread_runs *before,
				 const struct us_thread_runs *after, pid_t tid);

/* Has it had a CPU for this long, or this often, in between?  False: not, or not known.
 */
bool us_thread_worked(const struct us_thread_runs *before,
		      const struct us_thread_runs *after, pid_t tid, uint64_t ns,
		      uint64_t turns);

#endif
