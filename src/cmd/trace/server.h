/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/trace/server.h: a trace over HTTP while it is made, by the names that Nanos's
 * ftrace has for it (src/unix/ftrace.c there), as text that its tools take.
 *
 * It reads the rings beside whoever records them.  A client gets what is still in them
 * (/ftrace/trace), or what comes from now on (trace_pipe); one that is too slow loses
 * events, and is told how many.  The guest never waits for it.
 */
#ifndef US_CMD_TRACE_SERVER_H
#define US_CMD_TRACE_SERVER_H

#include "base/err.h"
#include "symbol/symbol.h"

struct us_trace_server;

struct us_trace_served {
	const char *path;	    /* of the plugin's file (trace/events.h) */
	struct us_symbols *symbols; /* nobody else's until us_trace_server_close() */
	uint64_t insn_ns;	    /* of a trace without times */
	const char *title;	    /* of the guest, for people */
};

/* Bind the address (http/address.h); s has to be whole when it runs.  Both stay the
 * caller's. */
US_MUST_CHECK int us_trace_server_open(const char *address,
				       const struct us_trace_served *s,
				       struct us_trace_server **ret, struct us_err *e);
/* QEMU is started; its file may come later. */
US_MUST_CHECK int us_trace_server_run(struct us_trace_server *s, struct us_err *e);
const char *us_trace_server_url(const struct us_trace_server *s);
bool us_trace_server_is_loopback(const struct us_trace_server *s);
/* Clients get what there is, but are not waited for longer than a second. NULL: none.
 */
void us_trace_server_close(struct us_trace_server *s);

#endif
