/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/trace/server.h: a trace over HTTP while it is made, under the names of Nanos's
 * ftrace (src/unix/ftrace.c there), as text that its tools accept.
 *
 * It reads the rings in addition to whoever records them.  A client gets what is still
 * in them (/ftrace/trace), or what comes from now on (trace_pipe).  A client that is
 * too slow loses events, and is told how many.  The guest never waits for it.
 */
#ifndef US_CMD_TRACE_SERVER_H
#define US_CMD_TRACE_SERVER_H

#include "base/err.h"
#include "symbol/symbol.h"

struct us_trace_server;

struct us_trace_served {
	const char *path;	    /* of the plugin's file (trace/events.h) */
	struct us_symbols *symbols; /* exclusively used until us_trace_server_close() */
	uint64_t insn_ns;	    /* ns per instruction, in a trace without times */
	const char *title;	    /* title of the guest, for people */
};

/* Bind the address (http/address.h); s must be complete when the server runs.  Both
 * stay the caller's. */
US_MUST_CHECK int us_trace_server_open(const char *address,
				       const struct us_trace_served *s,
				       struct us_trace_server **ret, struct us_err *e);
/* QEMU was started; its file may appear later. */
US_MUST_CHECK int us_trace_server_run(struct us_trace_server *s, struct us_err *e);
const char *us_trace_server_url(const struct us_trace_server *s);
bool us_trace_server_is_loopback(const struct us_trace_server *s);
/* Clients get what is available; waits for them at most a second.  Accepts NULL. */
void us_trace_server_close(struct us_trace_server *s);

#endif
