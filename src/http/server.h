/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.h: a small HTTP server for this machine's user: a table of routes, with
 * libmicrohttpd.
 *
 * us_http_open("127.0.0.1:9090", routes, NULL, ctx, &h, e); bound, not serving yet
 * us_http_run(h, e);
 * ... answers come from threads of its own ...
 * us_http_close(h, 1000);
 *
 * It refuses requests whose Host is a name (with a token: another machine's), and
 * requests that change something and come from another page (origin.h).  With a token,
 * it refuses all requests without it and all that come from another page.  Peers are
 * hostile: requests are small, each connection serves one request, there are at most
 * US_HTTP_CONNECTIONS, and a connection that sends no complete request makes way for
 * others.  A peer that accepts no data for ten seconds is disconnected.
 */
#ifndef US_HTTP_SERVER_H
#define US_HTTP_SERVER_H

#include "http/body.h"

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define US_HTTP_CONNECTIONS 16	/* unless us_http_opts allow more */
#define US_HTTP_MOST	    256 /* most that us_http_opts may allow */
#define US_HTTP_BODY_MAX    255 /* most bytes of a request's body */

enum us_http_method { US_HTTP_GET = 1, US_HTTP_PUT = 2, US_HTTP_POST = 4 };

struct us_http_request {
	enum us_http_method method;
	const char *path;
	const char *body; /* never NULL */
	void *connection; /* for us_http_value() */
};

/* The value of a key in the request's query ("?seconds=5").  False: none, or it is not
 * valid (us_http_unescape()); dst is then "". */
bool us_http_has(const struct us_http_request *q, const char *key); /* with any value */
bool us_http_value(const struct us_http_request *q, const char *key, char *dst,
		   size_t size);
/* Is the peer gone, so that no answer is needed? */
bool us_http_is_gone(const struct us_http_request *q);

/* The answer; initially all is 0, and fd is -1. */
struct us_http_reply {
	unsigned status;	   /* 0: 200 */
	const char *type;	   /* static; NULL: text/plain */
	char *text;		   /* the server frees it */
	struct us_http_body *body; /* or this, whose reference the server drops */
	const char *policy;    /* static: what a page may load (CSP); NULL: nothing */
	const char *file_name; /* static, plain letters: file name to save it as */
	/* Or send what is read from fd until its end.  The server closes fd, earlier if
	 * the peer is gone or the server is closed; the writer then gets EPIPE. */
	int fd;
	/* It may be silent for long: a peer that closes its side is gone. */
	bool endless;
};

struct us_http_route {
	const char *path;
	unsigned methods;  /* enum us_http_method; GET includes HEAD */
	unsigned changing; /* the methods that change something */
	/* Called from several threads. */
	void (*answer)(void *ctx, const struct us_http_request *q,
		       struct us_http_reply *ret);
};

struct us_http;

/* For a server with more than a few requests; all 0: the defaults. */
struct us_http_opts {
	/* Required as ?token= in each request (token.h); stays the caller's. */
	const char *token;
	const char *host_name; /* with a token: also accepted as Host; NULL: none */
	unsigned connections;  /* most connections; up to US_HTTP_MOST */
	size_t stack;	       /* stack size of an answering thread, in bytes */
};

/* o may be NULL.  routes: ends with path NULL; stays the caller's.  -EADDRINUSE,
 * -EACCES, -EINVAL, ...; -ENOTSUP: built without libmicrohttpd. */
US_MUST_CHECK int us_http_open(const char *address, const struct us_http_route *routes,
			       const struct us_http_opts *o, void *ctx,
			       struct us_http **ret, struct us_err *e);
/* Starts threads: do not fork() afterwards. */
US_MUST_CHECK int us_http_run(struct us_http *h, struct us_err *e);
const char *us_http_url(const struct us_http *h); /* without a trailing '/' */
/* With a token: a secret that works once, as /?open=..., and leads to the URL with the
 * token.  It is for a browser's command line, which other users of this machine can
 * read. */
const char *us_http_once(const struct us_http *h);
bool us_http_is_loopback(const struct us_http *h);
/* Take no new requests; wait up to wait_ms until peers have taken pending data (if data
 * from an fd has ended); then close all.  Accepts NULL. */
void us_http_close(struct us_http *h, unsigned wait_ms);

/* Reply with such a text. */
void us_http_say(struct us_http_reply *r, unsigned status, const char *fmt, ...)
	__attribute__((__format__(__printf__, 3, 4)));

#endif
