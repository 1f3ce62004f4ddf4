/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pair_map.c: see pair_map.h. */
#include "base/pair_map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* getauxval(3) */
struct us_hash_seed us_hash_seed(void)
{
	struct us_hash_seed seed = { 0 };
	const char *bytes = (const char *)getauxval(AT_RANDOM);
	if (bytes)
		memcpy(&seed, bytes, sizeof(seed));
	return seed;
}

uint64_t us_hash_bytes(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	struct us_hash_seed seed = us_hash_seed();
	for (size_t i = 0; i < n; i++)
		seed.v[0] = us_hash_mix(seed.v[0] + p[i]);
	return seed.v[0] ^ seed.v[1];
}

static struct us_pair_slot *slot_of(const struct us_pair_map *m, uint64_t a, uint64_t b)
{
	size_t i = us_hash_pair(&m->seed, a, b) & (m->cap - 1);
	while (m->v[i].value && (m->v[i].a != a || m->v[i].b != b))
		i = (i + 1) & (m->cap - 1);
	return &m->v[i];
}

static bool grow(struct us_pair_map *m)
{
	struct us_pair_map bigger = { .n = m->n, .cap = m->cap ? m->cap * 2 : 256 };
	bigger.seed = m->cap ? m->seed : us_hash_seed();
	bigger.v = calloc(bigger.cap, sizeof(*bigger.v));
	if (!bigger.v)
		return false;
	for (size_t i = 0; i < m->cap; i++)
		if (m->v[i].value)
			*slot_of(&bigger, m->v[i].a, m->v[i].b) = m->v[i];
	free(m->v);
	*m = bigger;
	return true;
}

uint32_t *us_pair_map_at(struct us_pair_map *m, uint64_t a, uint64_t b)
{
	if (m->n * 2 >= m->cap && !grow(m))
		return NULL;
	struct us_pair_slot *s = slot_of(m, a, b);
	if (!s->value) {
		s->a = a;
		s->b = b;
		m->n++;
	}
	return &s->value;
}

void us_pair_map_fini(struct us_pair_map *m)
{
	free(m->v);
	*m = (struct us_pair_map){ 0 };
}
