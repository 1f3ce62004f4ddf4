/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock.h: the one clock that all times in a recording come from. */
#ifndef US_BASE_CLOCK_H
#define US_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define US_NS_PER_SEC 1000000000ULL
#define US_NS_PER_MS  1000000ULL
#define US_NS_PER_US  1000ULL

/* CLOCK_MONOTONIC in ns; through the vDSO, so cheap enough for the hot path. */
static inline uint64_t us_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * US_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

/* CPU time of this thread, in ns.  Unlike wall time it leaves out waits for a busy
 * host's CPUs. */
static inline uint64_t us_thread_cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * US_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

#endif
