/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h: the sampling loop, the only thread with a deadline.
 *
 *	sampler thread:  backend.next -> unwind -> backend.release -> ring
 *	writer thread:   ring -> intern -> store
 *
 * The sampler is the thread that calls us_record().  It makes every call into the
 * backend (ptrace requires a single thread, the one that attached), so it must also be
 * the thread that opened the backend.  The writer thread blocks all signals.
 *
 * Several recordings may be made at once, each by a thread of its own.
 *
 * The writer flushes at least every US_RECORD_FLUSH_MS, so that a recording whose
 * writer is killed is readable up to its last quarter of a second.  (A disk or pipe
 * that blocks can delay it; samples are counted as lost when the ring is full.)
 */
#ifndef US_RECORD_H
#define US_RECORD_H

#include "backend/backend.h"
#include "store/store.h"

#include <stdatomic.h>

#define US_RECORD_FLUSH_MS 250

/* A capture, while it is held. */
struct us_live_sample {
	const struct us_capture *capture;
	const struct us_stack *stack;
	struct us_paging *paging;
	struct us_backend *backend; /* that took it */
	uint64_t t_ns;		    /* since the start, as of the sample */
	bool warm_up; /* before the start: t_ns is 0, and the sample is not kept */
	/* For task() only: the page tables of the program that ran; 0: not known;
	 * task() may set it. */
	us_gpa *root;
};

struct us_record_opts {
	/* With pause_ns all other work is done at that interval, too: a recording then
	 * costs a few wake-ups a second. */
	struct us_schedule schedule;
	uint64_t duration_ns; /* 0: until stopped */
	/* Ends the recording when true, in addition to us_record_stop(), which is for a
	 * process with a single recording.  Takes effect within 100 ms, or pause_ns.
	 * May be NULL. */
	const atomic_bool *stop;
	size_t ring_bytes; /* 0: the default, 4 MiB */
	/* Sample the guest before the start, within the budget, until a few stacks in a
	 * row are complete.  Only some samples show where the guest's code is and which
	 * programs there are, and stacks before those would be cut.  Lasts a third of a
	 * second or a hundred samples, whichever takes longer, but not more than 1.5 s.
	 */
	bool warm_up;

	/* The sampler calls it with each capture that has registers, while the capture
	 * is held and after its stack was unwound: the time to read the guest's memory
	 * (which images are where?).  Part of the hot path.  May be NULL. */
	void (*sample)(void *ctx, const struct us_live_sample *l);
	/* The sampler calls it in the warm-up after each capture's release: the slow
	 * part of what sample() found to do.  The writer thread's progress() does not
	 * run at the same time.  May be NULL. */
	void (*search)(void *ctx);
	/* Like sample(), called last: which thread of a Linux guest the vCPU runs, as
	 * stored in a node with US_PC_TASK; 0: not known.  May be NULL. */
	uint64_t (*task)(void *ctx, const struct us_live_sample *l);
	/* The sampler calls it with a capture that says what the host did
	 * (schedule.host): fills in the host's program counters, innermost first, and
	 * returns their number.  Part of the hot path.  May be NULL. */
	size_t (*host)(void *ctx, struct us_host_copy *h,
		       us_hva pc[US_MAX_HOST_FRAMES]);
	/* The writer thread calls it about ten times a second and once before the end
	 * is written, with consistent sums (store.h).  It may write facts and modules.
	 * May be NULL. */
	void (*progress)(void *ctx, const struct us_record_stats *s);
	/* The writer thread calls it after the last progress, before the end is
	 * written: the last time to write anything.  May be NULL. */
	void (*finish)(void *ctx);
	void *ctx;
};

/*
 * Record until the duration is over, the guest is gone or us_record_stop() is called.
 * b is open and not started.  Writes the recording's end to w, unless a write failed
 * (or there was no memory to begin with).  0 if samples could be taken, whatever ended
 * it (*ret_end); negative if the recording could not be made or written.  *ret_stats is
 * filled in either case.  e is filled if the result is negative, and also if *ret_end
 * is US_RECORD_GUEST_GONE or US_RECORD_LOST_TOUCH: then it has the backend's
 * explanation.
 *
 * u may be NULL if b unwinds the stacks itself (US_CAPTURE_STACK).
 */
US_MUST_CHECK int us_record(struct us_backend *b, struct us_unwinder *u,
			    struct us_writer *w, const struct us_record_opts *o,
			    struct us_record_stats *ret_stats,
			    enum us_record_end *ret_end, struct us_err *e);

/* End the recording; async-signal-safe.  Takes effect at once if the signal interrupts
 * the sampler, else within 100 ms.  A call before us_record() ends the recording at its
 * start; us_record() clears the request when it returns. */
void us_record_stop(void);

#endif
