/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gdb/client.h: a client of the GDB remote serial protocol.
 *
 * Source: "GDB Remote Serial Protocol", appendix E of the GDB manual.  The peer may be
 * anything that listens there, so packets are bounded in size, waits in time, and
 * retransmissions in number.  There are two parts: a parser that works on bytes alone
 * (fuzzed), and a connection around it.  After opening nothing here allocates.
 */
#ifndef US_BACKEND_GDB_CLIENT_H
#define US_BACKEND_GDB_CLIENT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_GDB_PACKET 65536 /* the longest packet that is accepted, decoded */

enum us_gdb_event {
	US_GDB_MORE,	   /* all bytes used, no whole packet yet */
	US_GDB_PACKET_END, /* a packet: body, len */
	US_GDB_NOTE,	   /* a notification (%), nobody acknowledges it: body, len */
	US_GDB_ACK,	   /* + */
	US_GDB_NAK,	   /* - : the peer wants our last packet again */
	US_GDB_BAD, /* a packet with a wrong checksum, or too long, or misencoded */
};

/* Bytes to packets.  Zero it (or us_gdb_parser_init()) before use. */
struct us_gdb_parser {
	uint8_t state, sum, said;
	bool note, broken;
	unsigned junk; /* bytes seen outside packets */
	size_t len;
	char body[US_GDB_PACKET + 1]; /* escapes and runs decoded; NUL after len */
};

void us_gdb_parser_init(struct us_gdb_parser *p);
/* Consume from *at up to end, to the end of the next event. */
enum us_gdb_event us_gdb_parse(struct us_gdb_parser *p, const uint8_t **at,
			       const uint8_t *end);

/* Value of a hex digit, or -1. */
int us_gdb_hex(char c);

/* What a packet says that came from a stub while the guest may have been running. */
enum us_gdb_stop {
	US_GDB_NOT_STOP, /* no stop reply */
	US_GDB_STOPPED,	 /* T or S: the guest is stopped */
	US_GDB_GONE,	 /* W or X: the guest has exited */
};
enum us_gdb_stop us_gdb_stop_kind(const char *body, size_t len);

struct us_watchdog;

struct us_gdb {
	int fd;	      /* non-blocking; owned */
	bool no_ack;  /* QStartNoAckMode was granted */
	bool owe;     /* we have not acknowledged a packet yet */
	bool pending; /* a packet came while we waited for an acknowledgement */
	bool acks;   /* the peer is known to acknowledge each packet, however late: QEMU
			does not answer while it takes a snapshot */
	bool silent; /* the peer never sent an acknowledgement that it owed: do not wait
			for it again */
	unsigned sent;	    /* packets of ours that the peer has not acknowledged */
	unsigned bad, naks; /* in a row */
	const char *why;    /* after an error: what was wrong, in words */
	unsigned waits;	    /* how often nothing had arrived yet */
	/* Once it has stepped in, the connection is the watchdog's own: nothing is sent
	 * or read.  NULL: none. */
	const struct us_watchdog *watchdog;
	uint8_t in[4096];
	size_t in_at, in_len;
	char out[8192]; /* what is being composed, or was last sent */
	size_t out_len;
	unsigned out_packets;
	bool flushed;
	struct us_gdb_parser parser;
};

/* Takes fd (of a stream socket) and makes it non-blocking. */
void us_gdb_init(struct us_gdb *g, int fd);
void us_gdb_fini(struct us_gdb *g); /* closes fd */

/*
 * Compose what is sent next: the interrupt byte, packets (several only to a stub that
 * is known to accept them: QEMU).  us_gdb_put returns -E2BIG if they do not fit.
 */
void us_gdb_put_break(struct us_gdb *g);
US_MUST_CHECK int us_gdb_put(struct us_gdb *g, const char *body);
/* Send it. deadline_ns: CLOCK_MONOTONIC. -ETIMEDOUT, -ECONNRESET. */
US_MUST_CHECK int us_gdb_flush(struct us_gdb *g, uint64_t deadline_ns);

/*
 * The next packet: g->parser.body, g->parser.len, valid until the next call.
 * Acknowledges, asks again, skips notifications.  -ETIMEDOUT; -ECONNRESET: closed;
 * -EPROTO: the peer does not speak the protocol.  A deadline of 0 does not wait.
 */
US_MUST_CHECK int us_gdb_get(struct us_gdb *g, uint64_t deadline_ns);
/*
 * Hot path: after us_gdb_get(), of one packet of several that were sent at once, with
 * `after` more behind it.  Has the peer acknowledged one of these already, so that the
 * packet is the answer to that?  QEMU acknowledges each just before it answers, and
 * leaves some unanswered.  If so, us_gdb_get() gives the packet once more.
 */
bool us_gdb_answers_later(struct us_gdb *g, unsigned after);
/* Wait until the peer has acknowledged all that we sent (it may want it again), or a
 * packet comes.  Does not wait in no-ack mode, or for a peer that never acknowledges.
 * Errors as for us_gdb_get(); -ETIMEDOUT only from a peer that is known to acknowledge.
 */
US_MUST_CHECK int us_gdb_wait_ack(struct us_gdb *g);

/* Send one command and get its reply. */
US_MUST_CHECK int us_gdb_ask(struct us_gdb *g, const char *body, uint64_t deadline_ns);

/* us_gdb_ask(), with an error message: "ask the stub for X: ...". */
US_MUST_CHECK int us_gdb_ask_explain(struct us_gdb *g, const char *body,
				     uint64_t deadline_ns, struct us_err *e);

/* A command of QEMU's human monitor; text gets its output, cut at size.  -ENOTSUP: the
 * stub has no monitor; -EAGAIN: the guest was running, and the command stopped it
 * instead. */
US_MUST_CHECK int us_gdb_ask_monitor(struct us_gdb *g, const char *line, char *text,
				     size_t size, uint64_t deadline_ns);

/* Was text the last reply? */
bool us_gdb_said(const struct us_gdb *g, const char *text);
bool us_gdb_said_error(const struct us_gdb *g); /* "E" and two digits, or "E." */

#endif
