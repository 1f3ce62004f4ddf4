/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/trace/text.h: what is in a trace's rings as text, to a pipe, by a thread of its
 * own.
 */
#ifndef US_CMD_TRACE_TEXT_H
#define US_CMD_TRACE_TEXT_H

#include "base/err.h"
#include "symbol/symbol.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define US_TRACE_TEXTS 4 /* at a time */

struct us_trace_text {
	const char *path;	    /* of the rings */
	struct us_symbols *symbols; /* taken with lock held */
	pthread_mutex_t *lock;
	const atomic_bool *over; /* what is followed has come to its end */
	uint64_t insn_ns;
	bool follow; /* from now on until the end; else what is there */
	int to;	     /* closed at the end */
	pthread_t thread;
	atomic_bool done; /* it can be joined */
};

/* The caller has set all above thread; -EAGAIN: there can be no more threads. */
US_MUST_CHECK int us_trace_text_start(struct us_trace_text *t, struct us_err *e);

#endif
