/* SPDX-License-Identifier: GPL-2.0-or-later */
/* body.c: see body.h. */
#include "http/body.h"

#include <stdlib.h>

struct us_http_body *us_http_body_new(char *data, size_t size)
{
	struct us_http_body *b = malloc(sizeof(*b));
	if (!b) {
		free(data);
		return NULL;
	}
	atomic_init(&b->users, 1);
	b->data = data;
	b->size = size;
	return b;
}

struct us_http_body *us_http_body_share(struct us_http_body *b)
{
	atomic_fetch_add(&b->users, 1);
	return b;
}

void us_http_body_drop(struct us_http_body *b)
{
	if (!b || atomic_fetch_sub(&b->users, 1) != 1)
		return;
	free(b->data);
	free(b);
}
