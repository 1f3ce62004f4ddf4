/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name_cache.h: demangles each symbol's name once. */
#ifndef US_SYMBOL_NAME_CACHE_H
#define US_SYMBOL_NAME_CACHE_H

#include <stddef.h>

struct us_name_cache {
	struct us_cached_name {
		const char *raw; /* NULL: free */
		char *shown;	 /* NULL: the same as raw */
	} * slot;
	size_t n, n_slot; /* n_slot: 0 or a power of two */
};

/*
 * The name to show for raw: a string of the cache, or raw itself.  The key is raw's
 * address, so raw must live as long as the cache.  source: the name in the source
 * (us_demangled_case), or NULL.
 */
const char *us_name_cache_show(struct us_name_cache *c, const char *raw,
			       const char *source);
void us_name_cache_fini(struct us_name_cache *c); /* accepts a zeroed one */

#endif
