/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vcpu_threads.h: which vCPU threads have work at this moment, according to /proc.
 *
 * A stub or a monitor stops the guest only once the VMM's main loop has got a host CPU.
 * By then a short burst of work may be over: a vCPU that ran when the sample was due is
 * found halted.  uniscope therefore checks the threads first, when the sample is due.
 */
#ifndef US_BACKEND_VCPU_THREADS_H
#define US_BACKEND_VCPU_THREADS_H

#include "vmm/guest_list.h"

struct us_vcpu_threads {
	unsigned n;
	int stat_fd[US_MAX_VCPUS];	/* /proc/PID/task/TID/stat; -1: not known */
	int schedstat_fd[US_MAX_VCPUS]; /* .../schedstat */
};

/* Setup path.  t: zeroed, or open, which is closed.  Leaves out threads that are not
 * known, or that this process may not read. */
void us_vcpu_threads_open(struct us_vcpu_threads *t, const struct us_guest *g);
void us_vcpu_threads_close(struct us_vcpu_threads *t);

/* Hot path: bit n is set if the thread of vCPU n runs or waits for a host CPU. */
uint64_t us_vcpu_threads_busy(const struct us_vcpu_threads *t);

/* Does the state of its thread say anything about this vCPU? */
bool us_vcpu_threads_known(const struct us_vcpu_threads *t, unsigned vcpu);

/* Times since the thread of a vCPU began, in ns. */
struct us_vcpu_thread_time {
	uint64_t ran, waited; /* waited: for a host CPU, before it got one */
};

/*
 * Hot path.  Exact while the thread sleeps.  For a thread that runs, ran is too small
 * by up to a tick of the host's scheduler (Documentation/scheduler/sched-stats.rst).
 * False: not known.
 */
bool us_vcpu_threads_time(const struct us_vcpu_threads *t, unsigned vcpu,
			  struct us_vcpu_thread_time *ret);

#endif
