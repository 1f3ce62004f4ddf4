/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.h: a small HTTP server for this machine's user: a table of routes, over
 * libmicrohttpd.
 *
 *	us_http_open("127.0.0.1:9090", routes, NULL, ctx, &h, e); bound, nobody served
 *	us_http_run(h, e);
 *	... answers come from threads of its own ...
 *	us_http_close(h, 1000);
 *
 * A request whose Host is a name is refused, as is one that changes something and
 * comes from another page (origin.h); with a token, any that does not have it or comes
 * from another page.  Peers are hostile: requests are small, each connection is for
 *one, there are US_HTTP_CONNECTIONS at most, and one that does not come to its point
 *makes room for others.  One that takes nothing for ten seconds is gone.
 */
#ifndef US_HTTP_SERVER_H
#define US_HTTP_SERVER_H

#include "http/body.h"

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define US_HTTP_CONNECTIONS 16	/* unless us_http_opts say more */
#define US_HTTP_MOST	    256 /* that they may say */
#define US_HTTP_BODY_MAX    255 /* bytes of a request's */

enum us_http_method { US_HTTP_GET = 1, US_HTTP_PUT = 2, US_HTTP_POST = 4 };

struct us_http_request {
	enum us_http_method method;
	const char *path;
	const char *body; /* never NULL */
	void *connection; /* for us_http_value() */
};

/* The value of a key in the request's query ("?seconds=5").  False: there is none, or
 * it is not to be used (us_http_unescape()); dst is "" then. */
bool us_http_has(const struct us_http_request *q, const char *key); /* of any value */
bool us_http_value(const struct us_http_request *q, const char *key, char *dst,
		   size_t size);
/* Is the peer gone, which so needs no answer? */
bool us_http_is_gone(const struct us_http_request *q);

/* What is answered; at first all is 0, and fd is -1. */
struct us_http_reply {
	unsigned status;	   /* 0: 200 */
	const char *type;	   /* static; NULL: text/plain */
	char *text;		   /* the server frees it */
	struct us_http_body *body; /* or this, which the server drops */
	const char *policy;	   /* static: what a page may load; NULL: nothing */
	const char *file_name;	   /* static, of plain letters: it is to be saved as */
	/* Or what comes from there until its end.  The server closes it, sooner if the
	 * peer is gone or the server is closed: who writes gets EPIPE then. */
	int fd;
	bool endless; /* it may be silent for long: a peer that says no more is gone */
};

struct us_http_route {
	const char *path;
	unsigned methods;  /* enum us_http_method; HEAD goes with GET */
	unsigned changing; /* those of them that change something */
	/* Called by several threads. */
	void (*answer)(void *ctx, const struct us_http_request *q,
		       struct us_http_reply *ret);
};

struct us_http;

/* Of a server for more than a few requests; all 0: as without. */
struct us_http_opts {
	const char *token; /* ?token= of each request (token.h); stays the caller's */
	unsigned connections; /* at most; up to US_HTTP_MOST */
	size_t stack;	      /* bytes, of a thread that answers */
};

/* o may be NULL.  routes: ends with path NULL; stays the caller's.  -EADDRINUSE,
 * -EACCES, -EINVAL, ...; -ENOTSUP: made without libmicrohttpd. */
US_MUST_CHECK int us_http_open(const char *address, const struct us_http_route *routes,
			       const struct us_http_opts *o, void *ctx,
			       struct us_http **ret, struct us_err *e);
/* Threads begin: not before a fork(). */
US_MUST_CHECK int us_http_run(struct us_http *h, struct us_err *e);
const char *us_http_url(const struct us_http *h); /* without a '/' at its end */
/* With a token: what leads to it once, as /?open=..., for the command line of a
 * browser, which other users of this machine can read. */
const char *us_http_once(const struct us_http *h);
bool us_http_is_loopback(const struct us_http *h);
/* Take no new requests; give peers up to wait_ms to take what is on its way, if what
 * comes from an fd has its end; then close all.  Accepts NULL. */
void us_http_close(struct us_http *h, unsigned wait_ms);

/* A reply of such a text. */
void us_http_say(struct us_http_reply *r, unsigned status, const char *fmt, ...)
	__attribute__((__format__(__printf__, 3, 4)));

#endif
