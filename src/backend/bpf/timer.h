/* SPDX-License-Identifier: GPL-2.0-or-later */
/* timer.h: the clock that ticks while one vCPU thread has a CPU, and calls tick(). */
#ifndef US_BACKEND_BPF_TIMER_H
#define US_BACKEND_BPF_TIMER_H

#include "backend/bpf/programs.h"

struct us_bpf_timer {
	bool open;
	int event_fd;
	struct us_bpf_link *link;
};

/* It does not tick until us_bpf_timer_set().  row: see programs.h. */
US_MUST_CHECK int us_bpf_timer_open(struct us_bpf_timer *t, struct us_bpf_programs *p,
				    pid_t tid, uint32_t row, struct us_err *e);
void us_bpf_timer_close(struct us_bpf_timer *t); /* accepts zeroed memory */

/* Hot path: from now on, tick every period_ns of CPU time of the thread; 0: do not
 * tick.  A tick that is under way starts again.  Needs no rights. */
void us_bpf_timer_set(struct us_bpf_timer *t, uint64_t period_ns);

/* Hot path: for how long, in all, the thread has had a CPU.  The ticks come from the
 * same clock, so it has no lag.  False: not known. */
bool us_bpf_timer_ran(const struct us_bpf_timer *t, uint64_t *ret_ns);

/* Ticks a second that this host's kernel allows (kernel.perf_event_max_sample_rate). */
uint64_t us_bpf_timer_max_hz(void);

#endif
