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

#include <stdbool.h>
#include <time.h>

struct us_kvm_patience {
	timer_t timer;
	bool there; /* false: waitpid() waits for as long as it takes */
};

/* For the calling thread.  Has SIGALRM do nothing, unless it does something already. */
void us_kvm_patience_open(struct us_kvm_patience *p);
void us_kvm_patience_close(struct us_kvm_patience *p); /* accepts a zeroed one */

/* Hot path: from a tenth of a second after begin() until end(), each tenth of a second
 * one call that sleeps ends with EINTR. */
void us_kvm_patience_begin(const struct us_kvm_patience *p);
void us_kvm_patience_end(const struct us_kvm_patience *p);

#endif
