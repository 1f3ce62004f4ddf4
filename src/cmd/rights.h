/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.h: give up what is not needed once the guest is attached. */
#ifndef US_CMD_RIGHTS_H
#define US_CMD_RIGHTS_H

#include "backend/backend.h"

/*
 * Keep of all capabilities only CAP_SYS_PTRACE (reading the VMM's memory) and
 * CAP_DAC_READ_SEARCH (reading symbol files), with a backend that uses the host's
 * kernel CAP_PERFMON and CAP_BPF (timers on threads to come); and forbid gaining any by
 * exec.  Of the calling thread and those that it starts from then on: with several
 * guests, the thread that takes up those to come keeps what it has.  Does nothing for a
 * process without capabilities.
 */
void us_rights_drop(const struct us_backend *b);

/* The same for threads that look at no guest: they may read files, whoever's. */
void us_rights_read_only(void);

/*
 * Let this thread, the sampler, get a host CPU at once when a sample is due, if that is
 * permitted.  It mostly sleeps; but one that has to wait until the guest's vCPU gives a
 * CPU up finds it halted, and idle guests look more idle than they are.  Threads and
 * processes started from now on are ordinary again.
 */
void us_rights_prefer_thread(void);

#endif
