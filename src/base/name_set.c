/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name_set.c: see name_set.h. */
#include "base/name_set.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

static uint32_t add(struct us_name_set *s, const char *name, uint32_t *slot)
{
	char *copy = strdup(name);
	char **to = copy ? us_vec_push(s) : NULL;
	if (!to) {
		free(copy);
		return US_NAME_NONE;
	}
	*to = copy;
	*slot = (uint32_t)s->n;
	return *slot - 1;
}

uint32_t us_name_set_at(struct us_name_set *s, const char *name)
{
	uint64_t hash = us_hash_bytes(name, strlen(name));
	for (uint64_t k = 0;; k++) {
		uint32_t *have = us_pair_map_at(&s->of, hash, k);
		if (!have)
			return US_NAME_NONE;
		if (!*have)
			return add(s, name, have);
		if (!strcmp(s->v[*have - 1], name))
			return *have - 1;
	}
}

void us_name_set_fini(struct us_name_set *s)
{
	for (size_t k = 0; k < s->n; k++)
		free(s->v[k]);
	free(s->v);
	us_pair_map_fini(&s->of);
	*s = (struct us_name_set){ 0 };
}
