/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exit_event.h: make KVM on Intel's VMX read the instruction pointer on each exit.
 *
 * The kernel's tracepoint kvm:kvm_exit reads it, before interrupts are enabled, if
 * somebody counts that tracepoint on the thread (TP_fast_assign in
 * arch/x86/kvm/trace.h).  This file counts it.  From Linux 6.3 on, a timer whose sample
 * has an address (PERF_SAMPLE_IP) has the same effect, but only on exits that a tick
 * hits.
 */
#ifndef US_BACKEND_BPF_EXIT_EVENT_H
#define US_BACKEND_BPF_EXIT_EVENT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct us_exit_event {
	bool open;
	int event_fd;
};

/* Is it needed on the kernel with this release name? */
bool us_exit_event_needed(const char *release);

US_MUST_CHECK int us_exit_event_open(struct us_exit_event *x, pid_t tid,
				     struct us_err *e);
void us_exit_event_close(struct us_exit_event *x); /* accepts zeroed memory */

/* How many exits the thread has had since it was opened; 0 if not known. */
uint64_t us_exit_event_count(const struct us_exit_event *x);

#endif
