/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events_last.h: the last part of a trace that was kept in memory.
 *
 * It is counted back from the last event: QEMU ends some time after its guest's last
 * function, and that time is not known to the trace.  All records are written, since
 * those before that part tell which functions are open; readers leave them out.
 */
#ifndef US_TRACE_EVENTS_LAST_H
#define US_TRACE_EVENTS_LAST_H

#include "trace/events_read.h"

/* insn_ns: ns per instruction, for a trace without times. */
struct us_events_last {
	uint64_t insn_ns, from_ns;
	uint64_t n_call, n_syscall; /* from then on; as in us_events_file */
};

/* When the last part of this length begins, in the trace's time; 0: with the trace. The
 * last event is taken to be at the last time that was written, fewer than 64 events
 * before it. */
uint64_t us_events_last_from(const struct us_events_file *f, uint64_t insn_ns,
			     uint64_t last_ns);
/* Write all records to a recording, and count the calls in the part. */
US_MUST_CHECK int us_events_last_record(struct us_events_file *f, struct us_writer *w,
					struct us_events_last *l, struct us_err *e);

#endif
