/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.h: drop capabilities that are not needed once the guest is attached. */
#ifndef US_CMD_RIGHTS_H
#define US_CMD_RIGHTS_H

#include "backend/backend.h"

/*
 * Keep only the capabilities CAP_SYS_PTRACE (reading the VMM's memory) and
 * CAP_DAC_READ_SEARCH (reading symbol files); with a backend that uses the host's
 * kernel, also CAP_PERFMON and CAP_BPF (timers on later threads).  Forbid gaining any
 * by exec.  This applies to the calling thread and to threads that it starts
 * afterwards: with several guests, the thread that attaches later guests keeps its
 * capabilities.  Does nothing for a process without capabilities.
 */
void us_rights_drop(const struct us_backend *b);

/* The same for threads that do not access guests: they may read any user's files. */
void us_rights_read_only(void);

/*
 * If permitted, give this thread, the sampler, a host CPU at once when a sample is
 * due.  It mostly sleeps.  But if it has to wait until the guest's vCPU gives up a CPU,
 * it finds the vCPU halted, and idle guests look more idle than they are.  Threads and
 * processes started afterwards have normal priority.
 */
void us_rights_prefer_thread(void);

#endif
