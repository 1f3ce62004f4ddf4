/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name_cache.c: see name_cache.h. */
#include "symbol/name_cache.h"

#include "symbol/demangle.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct us_cached_name *slot_of(struct us_cached_name *v, size_t n,
				      const char *raw)
{
	size_t i = (size_t)((uintptr_t)raw * 0x9e3779b97f4a7c15ULL >> 20);
	while (v[i & (n - 1)].raw && v[i & (n - 1)].raw != raw)
		i++;
	return &v[i & (n - 1)];
}

static bool grow(struct us_name_cache *c)
{
	if (c->n * 2 < c->n_slot)
		return true;
	size_t n = c->n_slot ? c->n_slot * 2 : 256;
	struct us_cached_name *v = calloc(n, sizeof(*v));
	if (!v)
		return false;
	for (size_t i = 0; i < c->n_slot; i++)
		if (c->slot[i].raw)
			*slot_of(v, n, c->slot[i].raw) = c->slot[i];
	free(c->slot);
	c->slot = v;
	c->n_slot = n;
	return true;
}

const char *us_name_cache_show(struct us_name_cache *c, const char *raw,
			       const char *source)
{
	char text[US_DEMANGLED_MAX];
	if (!grow(c))
		return raw;
	struct us_cached_name *s = slot_of(c->slot, c->n_slot, raw);
	if (!s->raw) {
		s->raw = raw;
		c->n++;
		if (us_demangle(raw, US_NAME_SHORT, text, sizeof(text))) {
			if (source)
				us_demangled_case(text, source);
			s->shown = strdup(text);
		}
	}
	return s->shown ? s->shown : raw;
}

void us_name_cache_fini(struct us_name_cache *c)
{
	for (size_t i = 0; i < c->n_slot; i++)
		free(c->slot[i].shown);
	free(c->slot);
	*c = (struct us_name_cache){ 0 };
}
