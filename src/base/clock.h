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

/* For waits until a time of this clock, where the C library has them (glibc 2.31): a
 * change of the date makes those of CLOCK_REALTIME longer or shorter. */
#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 31)
#define US_WAIT_CLOCK		      CLOCK_MONOTONIC
#define us_sem_wait_until(sem, until) sem_clockwait(sem, US_WAIT_CLOCK, until)
#define us_thread_join_until(thread, until)                                            \
	pthread_clockjoin_np(thread, NULL, US_WAIT_CLOCK, until)
#endif
#endif
#ifndef US_WAIT_CLOCK
#define US_WAIT_CLOCK			    CLOCK_REALTIME
#define us_sem_wait_until(sem, until)	    sem_timedwait(sem, until)
#define us_thread_join_until(thread, until) pthread_timedjoin_np(thread, NULL, until)
#endif

/* CPU time of this thread, in ns.  Unlike wall time it leaves out waits for a busy
 * host's CPUs. */
static inline uint64_t us_thread_cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * US_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

#endif
