/* SPDX-License-Identifier: GPL-2.0-or-later */
/* body.h: what many connections send, kept once until the last of them has. */
#ifndef US_HTTP_BODY_H
#define US_HTTP_BODY_H

#include <stdatomic.h>
#include <stddef.h>

struct us_http_body {
	atomic_uint users;
	size_t size;
	char *data;
};

/* For one user; takes data, which free() frees.  NULL: out of memory, data is freed. */
struct us_http_body *us_http_body_new(char *data, size_t size);
struct us_http_body *us_http_body_share(struct us_http_body *b); /* for one more */
void us_http_body_drop(struct us_http_body *b); /* one less; accepts NULL */

#endif
