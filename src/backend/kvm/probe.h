/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvm/probe.h: can this guest be sampled with ptrace and shared registers, and is that
 * permitted?
 *
 * Nothing here touches the guest.  Permission is tested by copying a file descriptor of
 * the VMM (pidfd_getfd), which the kernel allows to whoever may use ptrace.
 */
#ifndef US_BACKEND_KVM_PROBE_H
#define US_BACKEND_KVM_PROBE_H

#include "backend/backend.h"

/* As us_backend_ops.ready. */
int us_kvm_ready(struct us_err *why);

/* 0, or why not: what is set, what is needed, and the command that helps. */
US_MUST_CHECK int us_kvm_probe(const struct us_target *t, struct us_err *why);

/* Part of it, where the host can have such guests: -EOPNOTSUPP if by its command line
 * and its files the VMM may have one whose registers are encrypted. */
US_MUST_CHECK int us_kvm_refuse_protected(const struct us_guest *g, struct us_err *e);

/*
 * -EBUSY, and who it is: another tracer has a vCPU's thread; or tid, and no thread is
 * known of some vCPU.  tid 0: of those no thread is asked for.
 */
US_MUST_CHECK int us_kvm_refuse_tracer(const struct us_guest *g, pid_t tid,
				       struct us_err *e);

/*
 * May this process read the VMM's memory and its threads' system calls?  Tested by
 * copying one of its descriptors, for which the kernel requires the same as for ptrace.
 * -EPERM.
 */
US_MUST_CHECK int us_kvm_may_look(const struct us_guest *g, struct us_err *e);

/*
 * A handle on the guest's process that stays valid for this process only: it is checked
 * against the guest's start time.  An fd that the caller owns, or -errno.
 */
US_MUST_CHECK int us_kvm_open_process(const struct us_guest *g, struct us_err *e);

#endif
