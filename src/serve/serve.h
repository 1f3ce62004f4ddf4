/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serve.h: recordings, and guests that are observed, as pages in a browser.
 *
 *	us_serve_open(&o, &s, e);	it is bound, nobody served
 *	us_serve_run(s, e);
 *	us_serve_add(s, ...);		a guest, whose recording grows
 *	us_serve_close(s);
 *
 * All URLs need the token that us_serve_url() has, in their query.  There is no cookie:
 * a browser would send it to whatever else listens on another port of this machine.
 * Nothing is changed by a request, and no path in one names a file: a recording is one
 * of the shelf's (shelf.h).
 *
 *	/			recordings and guests, or the only one's page
 *	/recording		?file=NAME: its page
 *	/live			?guest=NAME: its page, renewed once a second
 *	/data			what that shows: ?last=MS, or ?from=MS&to=MS;
 *				time=1: with samples by time, and code; of a Linux
 *				guest owners=1: with processes as the roots of
 *				stacks, too; process=NAME: of these alone
 *	/history		?since=S: what its vCPUs did, by seconds
 *	/guests			all of them with their figures
 *	/events			a word each second
 *	/debug/pprof/profile	?file=NAME, or ?guest=NAME and &seconds=N
 *				(the next N) or &last=N
 *
 * A guest's data is made once for all that look at the same; who is slow gets less.
 */
#ifndef US_SERVE_H
#define US_SERVE_H

#include "live/live.h"
#include "serve/shelf.h"

#define US_SERVE_PORT	     "9970"
#define US_SERVE_CLIENTS     160 /* connections, most of which wait for news */
#define US_SERVE_CACHE_BYTES (64U << 20)
#define US_SERVE_LIVE_BYTES  (16U << 20)
#define US_SERVE_GUESTS	     256 /* of which those that have ended make room */
#define US_SERVE_URL	     160 /* bytes with the NUL */

struct us_serve_opts {
	const char *address;		/* http/address.h */
	const struct us_shelf *shelf;	/* stays as it is; NULL: none */
	bool live;			/* guests may be added; then no shelf */
	bool all;			/* many: / lists them */
	struct us_profile_opts profile; /* how recordings are read */
	bool full_paths;
};

struct us_serve;
struct us_serve_guest;

/* -EADDRINUSE: the hint names a port that is free; -ENOTSUP: made without
 * libmicrohttpd; -EINVAL, ... */
US_MUST_CHECK int us_serve_open(const struct us_serve_opts *o, struct us_serve **ret,
				struct us_err *e);
/* Threads begin, with the rights of the caller's: not before a fork(). */
US_MUST_CHECK int us_serve_run(struct us_serve *s, struct us_err *e);
/* With the token. */
const char *us_serve_url(const struct us_serve *s);
/* The same for a browser's command line, once: it does not have the token. */
const char *us_serve_once(const struct us_serve *s);
bool us_serve_is_loopback(const struct us_serve *s);
unsigned us_serve_port(const struct us_serve *s);
void us_serve_close(struct us_serve *s); /* accepts NULL */

/* A guest whose recording grows in fd (us_live_open()); name: for people, and for URLs,
 * which is why a namesake gets a number.  *ret is the server's, and the caller's to
 * name until us_serve_over().  -ENOSPC: there are too many. */
US_MUST_CHECK int us_serve_add(struct us_serve *s, const char *name, int fd,
			       const struct us_live_opts *o,
			       struct us_serve_guest **ret, struct us_err *e);
/* What its VMM takes of the host's CPUs: 1 is a whole one; negative: not known. */
void us_serve_host_cpu(struct us_serve_guest *g, double share);
/* Its recording is over, how, in words: what there is of it can still be looked at.
 * Accepts NULL. */
void us_serve_over(struct us_serve_guest *g, const char *words);

#endif
