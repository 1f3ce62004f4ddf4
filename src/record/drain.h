/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * drain.h: the writer thread, from the ring to the file.
 *
 * It blocks all signals, so that they reach the sampler.  It does all writing, the end
 * included, so that a closed pipe is an error and not a SIGPIPE.  It wakes on its own
 * every 20 ms (or pause_ns), or more often when the ring fills faster: the sampler
 * makes no system call for it.
 */
#ifndef US_RECORD_DRAIN_H
#define US_RECORD_DRAIN_H

#include "record/record.h"
#include "record/ring.h"

#include <pthread.h>
#include <stdatomic.h>

struct us_drain {
	/* Set by the caller, who zeroes the rest. */
	struct us_ring *ring;
	struct us_writer *writer;
	void (*progress)(void *ctx, const struct us_record_stats *s); /* or NULL */
	void (*finish_by)(void *ctx);				      /* or NULL */
	void *ctx;
	uint64_t pause_ns; /* it may sleep this long while the ring is nearly empty; 0:
			      20 ms */

	pthread_t thread;
	atomic_bool finish; /* no more samples will come */
	atomic_bool failed; /* e says why; the ring is not emptied any more */
	struct us_err e;
	uint64_t nap_ns, nap_most_ns, flushed_ns, stats_ns;
	struct us_record_stats last;
	enum us_record_end end;
	const char *words;
};

US_MUST_CHECK int us_drain_start(struct us_drain *d, struct us_err *e);

static inline bool us_drain_failed(struct us_drain *d)
{
	return atomic_load_explicit(&d->failed, memory_order_acquire);
}

/* Write what is in the ring, the last statistics and how it ended; end the thread.
 * 0, or the code of the first failure. */
US_MUST_CHECK int us_drain_finish(struct us_drain *d, const struct us_record_stats *s,
				  enum us_record_end end, const char *words,
				  struct us_err *e);

#endif
