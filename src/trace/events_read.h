/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events_read.h: uniscope's side of the file of events.h, while QEMU writes it or after
 * its end, however that came: from its rings to a recording.
 */
#ifndef US_TRACE_EVENTS_READ_H
#define US_TRACE_EVENTS_READ_H

#include "store/store.h"
#include "trace/events.h"

struct us_events_file {
	struct us_events_head
		*map; /* shared; all but what the reader sets is hostile */
	size_t size;
	struct us_events_head head; /* a checked copy */
	uint32_t n_function;	    /* written so far */
	uint64_t at[US_MAX_VCPUS];  /* records of each vCPU that were read */
	uint64_t n_event, n_lost;   /* records written, and those that came too fast */
	uint64_t *copy;		    /* of records, before they are believed */
};

/* -ENOENT: it is not there yet; -EBADMSG: it is no such file, or not whole yet; others.
 */
US_MUST_CHECK int us_events_open(const char *path, struct us_events_file *ret,
				 struct us_err *e);
void us_events_close(struct us_events_file *f); /* accepts a zeroed one */

/*
 * Write what came since the last time (the first time: what is still there), and until
 * when that is all.  Those that were written over meanwhile are counted in n_lost.
 */
US_MUST_CHECK int us_events_record(struct us_events_file *f, struct us_writer *w,
				   struct us_err *e);
/* Records that wait to be read, of the fullest ring, from 0 to 1. */
double us_events_fill(const struct us_events_file *f);
/* The reader of a stream is there: about every 100 ms. */
void us_events_beat(struct us_events_file *f);

#endif
