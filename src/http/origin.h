/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * origin.h: does a request come from our own page or from a program of the user?  It
 * must not come from someone else's page in the user's browser.
 *
 * Such a page can send requests to the loopback interface, too.  With DNS rebinding its
 * own name becomes our address: the browser then takes us for its server, and the Host
 * field has that name.  Otherwise, Origin and Sec-Fetch-Site tell where a request comes
 * from (https://fetch.spec.whatwg.org, https://www.w3.org/TR/fetch-metadata).
 */
#ifndef US_HTTP_ORIGIN_H
#define US_HTTP_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

/* Is the Host field an address or localhost, which no DNS server can assign to others?
 * NULL: there is no field; browsers always send one. */
bool us_http_host_is_ours(const char *host);
/* Is the Host field this name, of this machine?  A DNS server can assign it to others:
 * only with a token is that harmless. */
bool us_http_host_is_named(const char *host, const char *name);
/* The path of a request's target without its query.  A target may have the absolute
 * form, which clients send to a proxy and a server must take, too (RFC 9112, 3.2.2):
 * "http://HOST/PATH".  Then host becomes what it names, as in a Host field; else "".
 * NULL: a host that is empty or has no room. */
const char *us_http_target_path(const char *target, char *host, size_t size);
/* May a sender with these fields change something?  NULL: no such field. */
bool us_http_origin_is_ours(const char *host, const char *origin,
			    const char *sec_fetch_site);
/* What a browser says about a request; NULL: no such field. */
struct us_http_sender {
	const char *host, *origin;
	const char *site, *mode, *dest; /* Sec-Fetch-... */
};
/* May a sender with these fields read something?  Allowed are our own page, programs,
 * and a user who follows a link anywhere (mode "navigate" to a "document").  Other
 * pages may neither read nor embed it. */
bool us_http_sender_is_ours(const struct us_http_sender *s);

#endif
