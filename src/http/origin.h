/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * origin.h: does a request come from our own page, or from a program of the user's, and
 * not from a page that somebody else made and the user's browser shows?
 *
 * Such a page can send requests to the loopback interface, too.  By DNS rebinding its
 * own name becomes our address: then the browser believes us to be its server, and the
 * Host field has that name.  Without, Origin and Sec-Fetch-Site tell whose it is
 * (https://fetch.spec.whatwg.org, https://www.w3.org/TR/fetch-metadata).
 */
#ifndef US_HTTP_ORIGIN_H
#define US_HTTP_ORIGIN_H

#include <stdbool.h>

/* Is the Host field an address or localhost, which no DNS gives to others?  NULL: there
 * is none, as no browser sends. */
bool us_http_host_is_ours(const char *host);
/* May who sends these fields change something?  NULL: it is not there. */
bool us_http_origin_is_ours(const char *host, const char *origin,
			    const char *sec_fetch_site);
/* What a browser says of a request; NULL: nothing. */
struct us_http_sender {
	const char *host, *origin;
	const char *site, *mode, *dest; /* Sec-Fetch-... */
};
/* May who sends these see something?  Our own page may, programs may, and the user who
 * follows a link that somewhere stands may (mode "navigate" to a "document"); a page
 * that is somebody else's may neither read nor embed it. */
bool us_http_sender_is_ours(const struct us_http_sender *s);

#endif
