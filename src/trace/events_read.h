/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events_read.h: uniscope's side of the file of events.h: from its rings to a
 * recording, while QEMU writes it or after it has ended in any way.
 */
#ifndef US_TRACE_EVENTS_READ_H
#define US_TRACE_EVENTS_READ_H

#include "store/store.h"
#include "trace/events.h"

struct us_events_file {
	struct us_events_head *map; /* shared; hostile, except what the reader sets */
	size_t size;
	struct us_events_head head; /* a checked copy */
	uint32_t n_function;	    /* written so far */
	uint64_t at[US_MAX_VCPUS];  /* records read, for each vCPU */
	/* Written to the recording: entries of functions, and of system calls, both
	 * without those that were open before. */
	uint64_t n_call, n_syscall;
	uint64_t n_lost; /* records lost because they came too fast */
	/* Of each vCPU, to find the system calls; NULL: it had no message. */
	struct us_event_data *data[US_MAX_VCPUS];
	uint64_t *copy; /* copy of records, to be checked */
	bool beside;	/* this is not the reader that a stream waits for */
};

bool us_event_is_call(unsigned kind); /* enum us_event_kind: of a function */

/* Where records go.  Each function returns 0, or a negative errno, which ends the
 * reading. */
struct us_events_sink {
	/* Functions that later records refer to, in order, without gaps. */
	int (*functions)(void *ctx, uint32_t first, const uint64_t *address, size_t n,
			 struct us_err *e);
	int (*events)(void *ctx, unsigned vcpu, const uint64_t *record, size_t n,
		      struct us_err *e);
	/* Everything up to t_ns, on all vCPUs, was passed. */
	int (*until)(void *ctx, uint64_t t_ns, struct us_err *e);
	void *ctx;
};

/* -ENOENT: the file does not exist yet; -EBADMSG: it is not such a file, or not
 * complete yet; others. */
US_MUST_CHECK int us_events_open(const char *path, struct us_events_file *ret,
				 struct us_err *e);
void us_events_close(struct us_events_file *f); /* accepts a zeroed one */

/* From now on, read in addition to another reader: the guest does not wait for us, and
 * records that we are too slow for are lost only to us.  skip: begin with new records,
 * not with those still in the rings; open functions are then written again. */
void us_events_beside(struct us_events_file *f, bool skip);

/*
 * Pass on all records since the last call (first call: all that are still there), then
 * the time up to which they are complete.  Overwritten records are counted in n_lost.
 */
US_MUST_CHECK int us_events_take(struct us_events_file *f,
				 const struct us_events_sink *sink, struct us_err *e);
/* Write them to a recording. */
US_MUST_CHECK int us_events_record(struct us_events_file *f, struct us_writer *w,
				   struct us_err *e);
/* vCPUs that were started, at most US_MAX_VCPUS: records of others are passed over. */
unsigned us_events_n_vcpu(const struct us_events_file *f);
/* A vCPU's ring (below us_events_n_vcpu()) of head.n_record records, of which QEMU may
 * be writing some; *ret_written: as in struct us_events_vcpu. */
const uint64_t *us_events_ring(const struct us_events_file *f, unsigned vcpu,
			       uint64_t *ret_written);
/* The addresses of the functions that were passed on so far, *ret_n of them; in memory
 * that QEMU shares. */
const uint64_t *us_events_functions(const struct us_events_file *f, size_t *ret_n);
/* How full the fullest ring is with unread records, from 0 to 1. */
double us_events_fill(const struct us_events_file *f);
/* Sign of life of a stream's reader; call it about every 100 ms. */
void us_events_beat(struct us_events_file *f);

#endif
