/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_durations.h: the calls of one function in a trace, and how long they took.
 *
 * A call counts when it has returned and its entry was seen.
 */
#ifndef US_REPORT_TRACE_DURATIONS_H
#define US_REPORT_TRACE_DURATIONS_H

#include "base/err.h"
#include "trace/replay.h"

struct us_trace_durations {
	uint64_t calls, max_ns;
	uint64_t total_ns; /* only outermost calls: recursion counts once */
	uint64_t sum_ns;   /* all calls */
	uint64_t self_ns;  /* all calls, without callees and interrupts */
	/* The stacks on which it has not ended, with the number of nested calls. */
	struct {
		struct us_trace_open {
			uint32_t stack, n;
		} * v;
		size_t n, cap;
	} open;
};

/* It is entered.  -ENOMEM. */
US_MUST_CHECK int us_trace_durations_enter(struct us_trace_durations *d,
					   const struct us_replay_span *s);
/* It has ended, or goes on on another stack. */
void us_trace_durations_leave(struct us_trace_durations *d,
			      const struct us_replay_span *s);
void us_trace_durations_fini(struct us_trace_durations *d);

#endif
