/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvm/match.h: which thread of a VMM runs which vCPU.
 *
 * The system call of a running thread, which names the vCPU's file, can be read only
 * while the thread is stopped: each is stopped once with ptrace, for some microseconds.
 * A thread that gets no CPU cannot stop at once, and a requested stop cannot be
 * canceled: such threads are remembered, and resumed when they have stopped.
 */
#ifndef US_BACKEND_KVM_MATCH_H
#define US_BACKEND_KVM_MATCH_H

#include "vmm/guest_list.h"

#define US_KVM_MAX_ASKED 8

struct us_kvm_match {
	pid_t asked[US_KVM_MAX_ASKED]; /* traced, asked to stop, not resumed yet */
	unsigned n_asked;
	pid_t refused; /* a running thread that could not be traced, or 0 */
};

/*
 * Fill tid of the vCPUs of g where it is 0, within a tenth of a second, or a second if
 * no vCPU has one.  It stays 0 for those that no thread runs meanwhile: the guest is
 * paused, idles in its VMM, or the VMM lets its threads run whichever vCPU is free.  *m
 * must be zeroed before the first call; us_kvm_match_close() is due on failure, too.
 */
US_MUST_CHECK int us_kvm_match_threads(struct us_kvm_match *m, struct us_guest *g,
				       struct us_err *e);
/* Try once more with the threads that are not matched to a vCPU yet.  Call
 * us_kvm_match_settle() soon. */
void us_kvm_match_again(struct us_kvm_match *m, struct us_guest *g);

/* Hot path: resume the threads that have stopped late, and take their answers.  True:
 * some have not stopped yet, call it again. */
bool us_kvm_match_settle(struct us_kvm_match *m, struct us_guest *g);

/* Wait, up to ten seconds, for the threads that have not stopped yet: after that
 * late_stop.h has them. */
void us_kvm_match_close(struct us_kvm_match *m, struct us_guest *g);

#endif
