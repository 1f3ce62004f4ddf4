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
	bool beside;		    /* not the reader that a stream waits for */
};

/* Where records go.  Each returns 0, or a negative errno, which ends it. */
struct us_events_sink {
	/* Those that the records to come speak of; in order, none left out. */
	int (*functions)(void *ctx, uint32_t first, const uint64_t *address, size_t n,
			 struct us_err *e);
	int (*events)(void *ctx, unsigned vcpu, const uint64_t *record, size_t n,
		      struct us_err *e);
	/* All that happened until then, on whichever vCPU, was given. */
	int (*until)(void *ctx, uint64_t t_ns, struct us_err *e);
	void *ctx;
};

/* -ENOENT: it is not there yet; -EBADMSG: it is no such file, or not whole yet; others.
 */
US_MUST_CHECK int us_events_open(const char *path, struct us_events_file *ret,
				 struct us_err *e);
void us_events_close(struct us_events_file *f); /* accepts a zeroed one */

/* From now on read beside whoever else does: the guest waits for us no more than we for
 * it, and what we are too slow for is lost to us alone.  skip: begin with what comes
 * now, not with what is still there; what is open is told then. */
void us_events_beside(struct us_events_file *f, bool skip);

/*
 * Give what came since the last time (the first time: what is still there), and until
 * when that is all.  Those that were written over meanwhile are counted in n_lost.
 */
US_MUST_CHECK int us_events_take(struct us_events_file *f,
				 const struct us_events_sink *sink, struct us_err *e);
/* To a recording. */
US_MUST_CHECK int us_events_record(struct us_events_file *f, struct us_writer *w,
				   struct us_err *e);
unsigned us_events_n_vcpu(const struct us_events_file *f); /* that were started */
/* Records that wait to be read, of the fullest ring, from 0 to 1. */
double us_events_fill(const struct us_events_file *f);
/* The reader of a stream is there: about every 100 ms. */
void us_events_beat(struct us_events_file *f);

#endif
