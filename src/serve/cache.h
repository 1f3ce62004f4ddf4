/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cache.h: a cache of replies with a size limit; it drops the least recently used
 * ones. */
#ifndef US_SERVE_CACHE_H
#define US_SERVE_CACHE_H

#include "http/body.h"

#include <stdbool.h>
#include <stdint.h>

#define US_CACHE_ENTRIES 64
#define US_CACHE_KEY	 256 /* bytes with the NUL */

struct us_cache {
	/* Limit on bytes of all bodies; set by the caller, the rest is 0. */
	size_t most;
	size_t size;
	uint64_t clock;
	struct us_cache_entry {
		char key[US_CACHE_KEY];
		struct us_http_body *body; /* NULL: unused */
		uint64_t used;
	} entry[US_CACHE_ENTRIES];
};

/* A cached body, with one more user; or NULL. */
struct us_http_body *us_cache_get(struct us_cache *c, const char *key);
/* The caller keeps its reference.  A body larger than half of the limit is not kept. */
void us_cache_put(struct us_cache *c, const char *key, struct us_http_body *b);
void us_cache_fini(struct us_cache *c);

#endif
