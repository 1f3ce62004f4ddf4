/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server_none.c: server.h without libmicrohttpd. */
#include "http/server.h"

#include <errno.h>

int us_http_open(const char *address, const struct us_http_route *routes,
		 const struct us_http_opts *o, void *ctx, struct us_http **ret,
		 struct us_err *e)
{
	(void)routes, (void)o, (void)ctx;
	*ret = NULL;
	us_fail(e, -ENOTSUP,
		"listen on %s: this uniscope was built without libmicrohttpd", address);
	us_hint(e, "install libmicrohttpd-dev and rebuild uniscope");
	return -ENOTSUP;
}

int us_http_run(struct us_http *h, struct us_err *e)
{
	(void)h;
	return us_fail(e, -ENOTSUP, "serve: built without libmicrohttpd");
}

bool us_http_has(const struct us_http_request *q, const char *key)
{
	(void)q, (void)key;
	return false;
}

bool us_http_value(const struct us_http_request *q, const char *key, char *dst,
		   size_t size)
{
	(void)q, (void)key, (void)size;
	*dst = '\0';
	return false;
}

bool us_http_is_gone(const struct us_http_request *q)
{
	(void)q;
	return true;
}

const char *us_http_url(const struct us_http *h)
{
	(void)h;
	return "";
}

const char *us_http_once(const struct us_http *h)
{
	(void)h;
	return "";
}

bool us_http_is_loopback(const struct us_http *h)
{
	(void)h;
	return true;
}

void us_http_close(struct us_http *h, unsigned wait_ms)
{
	(void)h, (void)wait_ms;
}
