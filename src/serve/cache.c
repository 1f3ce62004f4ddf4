/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cache.c: see cache.h. */
#include "serve/cache.h"

#include <stdio.h>
#include <string.h>

struct us_http_body *us_cache_get(struct us_cache *c, const char *key)
{
	for (unsigned i = 0; i < US_CACHE_ENTRIES; i++) {
		struct us_cache_entry *x = &c->entry[i];
		if (!x->body || strcmp(x->key, key) != 0)
			continue;
		x->used = ++c->clock;
		return us_http_body_share(x->body);
	}
	return NULL;
}

static void drop(struct us_cache *c, struct us_cache_entry *x)
{
	c->size -= x->body->size;
	us_http_body_drop(x->body);
	x->body = NULL;
}

/* An unused entry, or the one whose last use is longest ago. */
static struct us_cache_entry *oldest(struct us_cache *c, bool used)
{
	struct us_cache_entry *best = NULL;
	for (unsigned i = 0; i < US_CACHE_ENTRIES; i++) {
		struct us_cache_entry *x = &c->entry[i];
		if (!x->body && !used)
			return x;
		if (x->body && (!best || x->used < best->used))
			best = x;
	}
	return best;
}

void us_cache_put(struct us_cache *c, const char *key, struct us_http_body *b)
{
	if (strlen(key) >= US_CACHE_KEY || b->size > c->most / 2)
		return;
	struct us_cache_entry *x;
	while (c->size + b->size > c->most && (x = oldest(c, true)))
		drop(c, x);
	x = oldest(c, false);
	if (!x)
		return;
	if (x->body)
		drop(c, x);
	strcpy(x->key, key);
	x->body = us_http_body_share(b);
	x->used = ++c->clock;
	c->size += b->size;
}

void us_cache_fini(struct us_cache *c)
{
	for (unsigned i = 0; i < US_CACHE_ENTRIES; i++)
		if (c->entry[i].body)
			drop(c, &c->entry[i]);
}
