/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serve.h: recordings, and guests that are observed, as pages in a browser.
 *
 *	us_serve_open(&o, &s, e);	it is bound, nobody served
 *	us_serve_run(s, e);
 *	us_serve_close(s);
 *
 * All URLs need the token that us_serve_url() has, in their query.  There is no cookie:
 * a browser would send it to whatever else listens on another port of this machine.
 * Nothing is changed by a request, and no path in one names a file: a recording is one
 * of the shelf's (shelf.h).
 *
 *	/				the recordings and guests, or the only one's
 *page /recording?file=NAME		its page /debug/pprof/profile?file=NAME the same
 *for `go tool pprof`
 */
#ifndef US_SERVE_H
#define US_SERVE_H

#include "profile/profile.h"
#include "serve/shelf.h"

#define US_SERVE_PORT	     "9970"
#define US_SERVE_CLIENTS     128 /* connections, most of which wait for news */
#define US_SERVE_CACHE_BYTES (64U << 20)
#define US_SERVE_URL	     160 /* bytes with the NUL */

struct us_serve_opts {
	const char *address;		/* http/address.h */
	const struct us_shelf *shelf;	/* stays the caller's, and as it is */
	struct us_profile_opts profile; /* how recordings are read */
	bool full_paths;
};

struct us_serve;

/* -EADDRINUSE: the hint names a port that is free; -ENOTSUP: made without
 * libmicrohttpd; -EINVAL, ... */
US_MUST_CHECK int us_serve_open(const struct us_serve_opts *o, struct us_serve **ret,
				struct us_err *e);
/* Threads begin: not before a fork(). */
US_MUST_CHECK int us_serve_run(struct us_serve *s, struct us_err *e);
/* With the token. */
const char *us_serve_url(const struct us_serve *s);
bool us_serve_is_loopback(const struct us_serve *s);
unsigned us_serve_port(const struct us_serve *s);
void us_serve_close(struct us_serve *s); /* accepts NULL */

#endif
