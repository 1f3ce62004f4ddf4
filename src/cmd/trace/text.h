/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/trace/text.h: a thread that writes a trace's rings as text to a pipe. */
#ifndef US_CMD_TRACE_TEXT_H
#define US_CMD_TRACE_TEXT_H

#include "base/err.h"
#include "symbol/symbol.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define US_TRACE_TEXTS 4 /* at the same time */

struct us_trace_text {
	const char *path;	    /* file of the rings */
	struct us_symbols *symbols; /* used with lock held */
	pthread_mutex_t *lock;
	const atomic_bool *over; /* the traced guest has ended */
	uint64_t insn_ns;
	bool follow; /* write from now until the end; else only what is there */
	int to;	     /* pipe to write to; closed at the end */
	pthread_t thread;
	atomic_bool done; /* the thread can be joined */
};

/* The caller must set all members above `thread`.  -EAGAIN: no more threads. */
US_MUST_CHECK int us_trace_text_start(struct us_trace_text *t, struct us_err *e);

#endif
