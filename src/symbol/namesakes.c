/* SPDX-License-Identifier: GPL-2.0-or-later */
/* symbol/namesakes.c: see namesakes.h. */
#include "symbol/namesakes.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* The random bytes of each process (AT_RANDOM) are the seed: nobody can make a file
 * whose names all have the same hash. */
static uint64_t seed(void)
{
	const char *bytes = (const char *)getauxval(AT_RANDOM);
	uint64_t v = 0;
	if (bytes)
		memcpy(&v, bytes, sizeof(v));
	return v;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
	return x ^ x >> 32;
}

static uint64_t hash(uint64_t h, const char *name)
{
	size_t len = strlen(name);
	for (uint64_t part = 0; len; part = 0) {
		size_t n = len < sizeof(part) ? len : sizeof(part);
		memcpy(&part, name, n);
		h = mix(h + part);
		name += n;
		len -= n;
	}
	return mix(h);
}

uint32_t *us_number_namesakes(const struct us_elf_symbol *v, size_t n)
{
	size_t n_slot = 16;
	while (n_slot < 2 * n)
		n_slot *= 2;
	/* Index + 1 of the last one so far of each name. */
	_cleanup_free_ uint32_t *last = calloc(n_slot, sizeof(*last));
	uint32_t *number = calloc(n + 1, sizeof(*number));
	uint64_t start = seed();
	if (!last || !number) {
		free(number);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		size_t k = hash(start, v[i].name) & (n_slot - 1);
		while (last[k] && strcmp(v[last[k] - 1].name, v[i].name) != 0)
			k = (k + 1) & (n_slot - 1);
		number[i] = last[k] ? number[last[k] - 1] + 1 : 0;
		last[k] = (uint32_t)i + 1;
	}
	return number;
}
