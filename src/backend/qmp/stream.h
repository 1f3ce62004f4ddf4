/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qmp/stream.h: messages of a QEMU monitor in a buffer of fixed size.
 *
 * Takes over the socket of a us_qmp whose setup commands are done.  Never allocates.
 */
#ifndef US_BACKEND_QMP_STREAM_H
#define US_BACKEND_QMP_STREAM_H

#include "base/err.h"
#include "vmm/qmp_parse.h"

#include <stddef.h>
#include <stdint.h>

struct us_qmp_stream {
	int fd;	   /* not owned */
	char *buf; /* not owned; the longest message that fits is size bytes */
	size_t size, from, to;
	struct us_qmp_framer framer;
	const char *why; /* after an error: what was wrong, in words */
};

/* Discard what was received: the stream may be in the middle of a message. */
void us_qmp_stream_reset(struct us_qmp_stream *s);

/* Send a text. deadline_ns: CLOCK_MONOTONIC. -ETIMEDOUT, -ECONNRESET. */
US_MUST_CHECK int us_qmp_stream_send(struct us_qmp_stream *s, const char *text,
				     uint64_t deadline_ns);

/*
 * The next message of a known kind: enum us_qmp_kind, and its value, valid until the
 * next call.  -ETIMEDOUT (a deadline of 0 does not wait), -ECONNRESET, -EPROTO.
 */
US_MUST_CHECK int us_qmp_stream_next(struct us_qmp_stream *s, uint64_t deadline_ns,
				     const char **ret_value, size_t *ret_len);

/* Read until a text has gone by, or the deadline. */
void us_qmp_stream_wait(struct us_qmp_stream *s, const char *text,
			uint64_t deadline_ns);

/* Wait until something can be received: 0; -ETIMEDOUT; -EINTR: a signal came. */
int us_qmp_stream_poll(struct us_qmp_stream *s, uint64_t deadline_ns);

#endif
