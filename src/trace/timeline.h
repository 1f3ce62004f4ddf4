/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timeline.h: merges the records of a trace, which each vCPU writes for itself, into
 * one sequence of events in order of time.
 *
 * Few records have a time; between two that have, instructions are the clock.  An event
 * is held back until us_timeline_until() says that no earlier one can come.
 */
#ifndef US_TRACE_TIMELINE_H
#define US_TRACE_TIMELINE_H

#include "base/err.h"
#include "trace/events.h"

#include <stdint.h>

struct us_timeline_event {
	uint64_t t_ns;	 /* since the trace's start; never goes back on a vCPU */
	uint64_t insns;	 /* executed by the vCPU so far */
	uint32_t number; /* of a function or stack, as in the record */
	uint16_t vcpu;
	uint8_t kind; /* enum us_event_kind; not TIME */
	/* For DATA: the message, valid only during the call. */
	const uint8_t *data;
	uint32_t size;
};
/* Returns 0, or a negative errno, which ends the processing. */
typedef int us_timeline_sink(void *ctx, const struct us_timeline_event *event);

struct us_timeline;

/* insn_ns: ns per instruction, for a trace without times; 0: it has times.  -ENOMEM. */
US_MUST_CHECK int us_timeline_new(uint64_t insn_ns, us_timeline_sink *sink, void *ctx,
				  struct us_timeline **ret);
void us_timeline_free(struct us_timeline *t); /* accepts NULL */
/* Add records of a vCPU (below US_MAX_VCPUS), however hostile.  -ENOMEM, or the sink's
 * error. */
US_MUST_CHECK int us_timeline_add(struct us_timeline *t, unsigned vcpu,
				  const uint64_t *record, size_t n);
/* All records up to t_ns were added; pass their events to the sink. */
US_MUST_CHECK int us_timeline_until(struct us_timeline *t, uint64_t t_ns);

/* Pass on, of one vCPU alone and so without an order among several, the events whose
 * time no later record changes.  For those who need no order: it frees their memory. */
US_MUST_CHECK int us_timeline_settled(struct us_timeline *t, unsigned vcpu);

#endif
