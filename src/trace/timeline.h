/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timeline.h: from the records of a trace, which each vCPU has written for itself, to
 * what happened on all of them, one after the other.
 *
 * Few records have a time: between two that have, instructions tell.  What is not known
 * to be before what may still come is kept back until us_timeline_until() says so.
 */
#ifndef US_TRACE_TIMELINE_H
#define US_TRACE_TIMELINE_H

#include "base/err.h"
#include "trace/events.h"

#include <stdint.h>

struct us_timeline_event {
	uint64_t t_ns;	 /* since the start of the trace; never goes back on a vCPU */
	uint64_t insns;	 /* that the vCPU had executed */
	uint32_t number; /* of a function, or stack: as in the record */
	uint16_t vcpu;
	uint8_t kind; /* enum us_event_kind; not TIME */
	/* Of DATA: the message, which is good during the call. */
	const uint8_t *data;
	uint32_t size;
};
/* Returns 0, or a negative errno, which ends it. */
typedef int us_timeline_sink(void *ctx, const struct us_timeline_event *event);

struct us_timeline;

/* insn_ns: how long an instruction takes, in a trace without times; 0: it has some.
 * -ENOMEM. */
US_MUST_CHECK int us_timeline_new(uint64_t insn_ns, us_timeline_sink *sink, void *ctx,
				  struct us_timeline **ret);
void us_timeline_free(struct us_timeline *t); /* accepts NULL */
/* Records of a vCPU (less than US_MAX_VCPUS).  Any, however hostile.  -ENOMEM, or the
 * sink's. */
US_MUST_CHECK int us_timeline_add(struct us_timeline *t, unsigned vcpu,
				  const uint64_t *record, size_t n);
/* All until then was added: so much can go to the sink. */
US_MUST_CHECK int us_timeline_until(struct us_timeline *t, uint64_t t_ns);

#endif
