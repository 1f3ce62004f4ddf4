/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serve.h: recordings, and observed guests, as pages in a browser.
 *
 * us_serve_open(&o, &s, e); bound, not serving yet
 * us_serve_run(s, e);
 * us_serve_add(s, ...);     a guest, whose recording grows
 * us_serve_close(s);
 *
 * All URLs need the token of us_serve_url() in their query.  There is no cookie: a
 * browser would send it to servers on other ports of this machine, too.  Requests
 * change nothing, and no path in a request names a file: a recording is one of the
 * shelf's (shelf.h).
 *
 * /                    recordings and guests, or the only one's page
 * /recording           ?file=NAME: its page
 * /live                ?guest=NAME: its page, renewed once a second
 * /data                data of that page: ?last=MS, or ?from=MS&to=MS;
 *                      time=1: with samples by time, and code; for a Linux
 *                      guest owners=1: also with processes as roots of
 *                      stacks; process=NAME: only these
 * /history             ?since=S: what its vCPUs did, by seconds
 * /guests              all guests with their figures
 * /events              a word each second
 * /debug/pprof/profile ?file=NAME, or ?guest=NAME and &seconds=N
 *                      (the next N) or &last=N
 *
 * A guest's data is made once for all clients with the same view; slow clients get
 * less.
 */
#ifndef US_SERVE_H
#define US_SERVE_H

#include "live/live.h"
#include "serve/shelf.h"

#define US_SERVE_PORT	     "9970"
#define US_SERVE_CLIENTS     160 /* connections; most of them wait for events */
#define US_SERVE_CACHE_BYTES (64U << 20)
#define US_SERVE_LIVE_BYTES  (16U << 20)
#define US_SERVE_GUESTS	     256 /* guests that have ended are replaced */
#define US_SERVE_URL	     160 /* bytes with the NUL */

struct us_serve_opts {
	const char *address;		/* http/address.h */
	const char *host_name;		/* a further name in URLs; NULL: none */
	const struct us_shelf *shelf;	/* stays as it is; NULL: none */
	bool live;			/* guests may be added; shelf is NULL */
	bool all;			/* many guests: / lists them */
	struct us_profile_opts profile; /* how recordings are read */
	bool full_paths;
};

struct us_serve;
struct us_serve_guest;

/* -EADDRINUSE: the hint names a free port; -ENOTSUP: built without libmicrohttpd;
 * -EINVAL, ... */
US_MUST_CHECK int us_serve_open(const struct us_serve_opts *o, struct us_serve **ret,
				struct us_err *e);
/* Starts threads with the caller's rights: do not fork() afterwards. */
US_MUST_CHECK int us_serve_run(struct us_serve *s, struct us_err *e);
/* With the token. */
const char *us_serve_url(const struct us_serve *s);
/* The same for a browser's command line: works once, without the token. */
const char *us_serve_once(const struct us_serve *s);
bool us_serve_is_loopback(const struct us_serve *s);
unsigned us_serve_port(const struct us_serve *s);
void us_serve_close(struct us_serve *s); /* accepts NULL */

/* Add a guest whose recording grows in fd (us_live_open()).  name: for people, and for
 * URLs, so a namesake gets a number.  *ret is owned by the server; the caller may use
 * it until us_serve_over().  -ENOSPC: too many guests. */
US_MUST_CHECK int us_serve_add(struct us_serve *s, const char *name, int fd,
			       const struct us_live_opts *o,
			       struct us_serve_guest **ret, struct us_err *e);
/* Set the host CPU use of its VMM: 1 is a whole CPU; negative: not known. */
void us_serve_host_cpu(struct us_serve_guest *g, double share);
/* Its recording has ended; words: how.  It can still be viewed.  Accepts NULL. */
void us_serve_over(struct us_serve_guest *g, const char *words);

#endif
