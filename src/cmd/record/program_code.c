/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program_code.c: see program_code.h. */
#include "cmd/record/program_code.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define UPPER_HALF (1ULL << 63) /* the kernel's half: programs have no rules for it */

/* Free the first n. */
static void free_gone(struct us_program_code *c, size_t n)
{
	for (size_t k = 0; k < n; k++)
		us_cfi_table_free(c->gone.v[k]);
	for (size_t k = n; k < c->gone.n; k++)
		c->gone.v[k - n] = c->gone.v[k];
	c->gone.n -= n;
	c->n_unused = 0;
}

void us_program_code_fini(struct us_program_code *c)
{
	free_gone(c, c->gone.n);
	free(c->gone.v);
	free(c->place);
	free(c->old);
	free(atomic_load(&c->offered));
	memset(c, 0, sizeof(*c));
}

void us_program_code_begin(struct us_program_code *c)
{
	c->n_place = 0;
	if (!c->place)
		c->place = calloc(US_CODE_MOST_PLACES, sizeof(*c->place));
}

bool us_program_code_add(struct us_program_code *c, const struct us_cfi_table *t,
			 uint64_t bias, us_gpa root)
{
	struct us_cfi_table_info info;
	us_cfi_table_info(t, &info);
	uint64_t start = info.start + bias;
	if (!c->place || start >= UPPER_HALF ||
	    info.end - info.start > UPPER_HALF - start)
		return true;
	if (c->n_place == US_CODE_MOST_PLACES)
		return false;
	c->place[c->n_place++] = (struct us_code_place){ t, bias, root };
	return true;
}

static uint64_t hash_of(const struct us_program_code *c)
{
	uint64_t h = c->n_place;
	for (size_t k = 0; k < c->n_place; k++) {
		const struct us_code_place *p = &c->place[k];
		h = (h ^ (uintptr_t)p->table) * 0x9e3779b97f4a7c15;
		h = (h ^ h >> 29 ^ p->bias) * 0x9e3779b97f4a7c15;
		h = (h ^ h >> 29 ^ p->root) * 0x9e3779b97f4a7c15;
	}
	return h;
}

static struct us_code_set *make_set(const struct us_program_code *c)
{
	size_t n = (c->n_place + US_CFI_MAX_PLACES - 1) / US_CFI_MAX_PLACES;
	struct us_code_set *s = calloc(1, sizeof(*s) + (n ? n : 1) * sizeof(*s->block));
	if (!s)
		return NULL;
	s->n = c->n_place;
	for (size_t k = 0; k < c->n_place; k++) {
		const struct us_code_place *p = &c->place[k];
		struct us_cfi *to = &s->block[k / US_CFI_MAX_PLACES];
		(void)us_cfi_place(to, p->table, p->bias, p->root);
	}
	for (size_t k = 0; k + 1 < n; k++)
		s->block[k].next = &s->block[k + 1];
	return s;
}

void us_program_code_offer(struct us_program_code *c)
{
	struct us_code_set *last = atomic_load(&c->offered);
	uint64_t hash = hash_of(c);
	if (atomic_load_explicit(&c->taken, memory_order_acquire) != last)
		return; /* the reader may still use the one before */
	free(c->old);
	c->old = NULL;
	free_gone(c, c->n_unused);
	if (hash == c->hash || (!last && !c->n_place))
		return;
	struct us_code_set *next = make_set(c);
	if (!next)
		return;
	c->hash = hash;
	c->n_change++;
	c->old = last;
	c->n_unused = c->gone.n;
	atomic_store_explicit(&c->offered, next, memory_order_release);
}

void us_program_code_replace(struct us_program_code *c)
{
	struct us_code_set *last = atomic_load(&c->offered);
	uint64_t hash = hash_of(c);
	if (hash == c->hash || (!last && !c->n_place))
		return;
	struct us_code_set *next = make_set(c);
	c->hash = next ? hash : 0; /* out of memory: none until the next time */
	c->n_change++;
	atomic_store_explicit(&c->offered, next, memory_order_release);
	free(last);
}

void us_program_code_retire(struct us_program_code *c, struct us_cfi_table *t)
{
	struct us_cfi_table **slot = us_vec_push(&c->gone);
	if (slot)
		*slot = t; /* out of memory for the list: leak it */
}
