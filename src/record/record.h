/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h: the sampling loop, the only thread with a deadline.
 *
 * sampler thread:  backend.next -> unwind -> backend.release -> ring
 * writer thread:   ring -> intern -> store
 *
 * The writer flushes at least every US_RECORD_FLUSH_MS, so that a recording whose
 * writer is killed is readable up to its last quarter of a second.
 */
#ifndef US_RECORD_H
#define US_RECORD_H

#include "backend/backend.h"
#include "store/store.h"

#define US_RECORD_FLUSH_MS 250

struct us_record_opts {
	struct us_schedule schedule;
	uint64_t duration_ns; /* 0: until stopped */
	size_t ring_bytes;    /* 0: the default, 4 MiB */

	/*
	 * Called by the sampler with the first captures that have registers, while they
	 * are held, until it returns true: time to look at the guest's memory (does
	 * the image match?).  May be NULL.
	 */
	bool (*look)(void *ctx, const struct us_capture *c, struct us_paging *p);
	/* Called by the writer thread about ten times a second.  May be NULL. */
	void (*progress)(void *ctx, const struct us_record_stats *s);
	void *ctx;
};

/*
 * Record until the duration is over, the guest is gone or us_record_stop().  Ends the
 * recording in w in every case but a failed write.  0 if samples could be taken,
 * whatever ended it (*ret_end); negative if the recording could not be made or
 * written.  *ret_stats is filled in both.
 */
US_MUST_CHECK int us_record(struct us_backend *b, struct us_unwinder *u,
			    struct us_writer *w, const struct us_record_opts *o,
			    struct us_record_stats *ret_stats,
			    enum us_record_end *ret_end, struct us_err *e);
void us_record_stop(void); /* async-signal-safe; wakes the sampler */

#endif
