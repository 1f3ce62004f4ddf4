/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exit_event.h: make KVM on Intel's VMX read the instruction pointer on each exit.
 *
 * The kernel's tracepoint kvm:kvm_exit notes it, before interrupts are let in, if
 * somebody counts it on that thread (TP_fast_assign in arch/x86/kvm/trace.h); so it is
 * counted.  From Linux 6.3 on a timer whose sample has an address has the same effect
 * (PERF_SAMPLE_IP), on the exits alone that a tick hits.
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

/* Is it needed, on a kernel that calls itself that? */
bool us_exit_event_needed(const char *release);

US_MUST_CHECK int us_exit_event_open(struct us_exit_event *x, pid_t tid,
				     struct us_err *e);
void us_exit_event_close(struct us_exit_event *x); /* accepts zeroed memory */

/* How many exits of that thread there were since; 0 if it cannot be determined. */
uint64_t us_exit_event_count(const struct us_exit_event *x);

#endif
