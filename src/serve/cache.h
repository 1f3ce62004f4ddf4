/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cache.h: replies that were made, as many as fit into a size; those used last stay. */
#ifndef US_SERVE_CACHE_H
#define US_SERVE_CACHE_H

#include "http/body.h"

#include <stdbool.h>
#include <stdint.h>

#define US_CACHE_ENTRIES 64
#define US_CACHE_KEY	 256 /* bytes with the NUL */

struct us_cache {
	size_t most; /* bytes of all bodies; set by the caller, the rest is 0 */
	size_t size;
	uint64_t clock;
	struct us_cache_entry {
		char key[US_CACHE_KEY];
		struct us_http_body *body; /* NULL: unused */
		uint64_t used;
	} entry[US_CACHE_ENTRIES];
};

/* For one user more, or NULL. */
struct us_http_body *us_cache_get(struct us_cache *c, const char *key);
/* The body stays the caller's as well.  One that is larger than half of all is not
 * kept. */
void us_cache_put(struct us_cache *c, const char *key, struct us_http_body *b);
void us_cache_fini(struct us_cache *c);

#endif
