/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvm/patience.h: an end to waitpid() that waits for the stop of a thread.
 *
 * The thread may sleep where nothing stops it: in cgroup v1's freezer, or while its
 * storage hangs.  waitpid() has no time limit, and asking again and again would let a
 * stopped guest wait.  So a timer interrupts it, by SIGALRM for the calling thread.
 */
#ifndef US_BACKEND_KVM_PATIENCE_H
#define US_BACKEND_KVM_PATIENCE_H

#include "base/clock.h"

#include <signal.h>
#include <stdbool.h>
#include <time.h>

struct us_kvm_patience {
	timer_t timer;
	bool there; /* false: waitpid() waits for as long as it takes */
};

/* For the calling thread.  Has SIGALRM do nothing, unless it does something already. */
void us_kvm_patience_open(struct us_kvm_patience *p);
void us_kvm_patience_close(struct us_kvm_patience *p); /* accepts a zeroed one */

#define US_KVM_PATIENCE_NS (100 * US_NS_PER_MS)

/* Hot path: from ns after begin() until end(), and each tenth of a second from then on,
 * one call that sleeps ends with EINTR. */
void us_kvm_patience_begin(const struct us_kvm_patience *p, uint64_t ns);
void us_kvm_patience_end(const struct us_kvm_patience *p);

/*
 * Hot path: sleep for the stop of any thread that was asked for it.  Only between
 * expect() and forget() does a stop end the sleep, by SIGCHLD, and only if no other
 * thread of this process takes that signal: so do not sleep for long.
 */
void us_kvm_stops_expect(sigset_t *ret_before);
bool us_kvm_stops_sleep(uint64_t until_ns); /* false: another signal came */
void us_kvm_stops_forget(const sigset_t *before);

#endif
