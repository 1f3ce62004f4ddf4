/* SPDX-License-Identifier: GPL-2.0-or-later */
/* body.h: data that several connections send, kept until the last one is done. */
#ifndef US_HTTP_BODY_H
#define US_HTTP_BODY_H

#include <stdatomic.h>
#include <stddef.h>

struct us_http_body {
	atomic_uint users;
	size_t size;
	char *data;
};

/* A body with one user.  Takes ownership of data, which is freed with free().  NULL:
 * out of memory, data is freed. */
struct us_http_body *us_http_body_new(char *data, size_t size);
struct us_http_body *us_http_body_share(struct us_http_body *b); /* adds a user */
void us_http_body_drop(struct us_http_body *b); /* removes a user; accepts NULL */

#endif
