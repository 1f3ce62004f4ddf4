/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvm/probe.h: may and can this guest be looked into by ptrace and shared registers?
 *
 * Nothing here touches the guest: rights are tried by copying a file descriptor of the
 * VMM (pidfd_getfd), which the kernel allows to whom it allows ptrace.
 */
#ifndef US_BACKEND_KVM_PROBE_H
#define US_BACKEND_KVM_PROBE_H

#include "backend/backend.h"

/* As us_backend_ops.ready. */
int us_kvm_ready(struct us_err *why);

/* 0, or why not, with what is set, what is needed and the command that helps. */
US_MUST_CHECK int us_kvm_probe(const struct us_target *t, struct us_err *why);

/*
 * May the VMM's memory and its threads' system calls be read?  Tried by a copy of one
 * of its descriptors, for which the kernel asks what it asks for ptrace.  -EPERM.
 */
US_MUST_CHECK int us_kvm_may_look(const struct us_guest *g, struct us_err *e);

/*
 * A handle on the guest's process, which cannot become another one's: checked against
 * the guest's start time.  An fd that the caller owns, or -errno.
 */
US_MUST_CHECK int us_kvm_open_process(const struct us_guest *g, struct us_err *e);

/*
 * Which thread runs which vCPU: fills tid where it is 0.  Threads that run are stopped
 * once, for some microseconds, to read which file they run.  Where a VMM lets its
 * threads run whichever vCPU is free, some may not run yet: their tid stays 0.
 * -ESRCH: none runs.
 */
US_MUST_CHECK int us_kvm_match_threads(struct us_guest *g, struct us_err *e);
/* One look at the threads that run none of the vCPUs whose tid is known. */
void us_kvm_match_again(struct us_guest *g);

#endif
