/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trie.c: see trie.h. */
#include "profile/trie.h"

#include "base/vec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(US_MAX_FRAMES < UINT8_MAX, "depths must fit");

int us_trie_init(struct us_trie *t)
{
	memset(t, 0, sizeof(*t));
	t->seed = us_hash_seed();
	struct us_trie_node *root = us_vec_push(&t->nodes);
	uint8_t *depth = us_vec_push(&t->depths);
	uint32_t *number = us_vec_push(&t->numbers);
	return root && depth && number ? 0 : -ENOMEM;
}

void us_trie_fini(struct us_trie *t)
{
	free(t->nodes.v);
	free(t->depths.v);
	free(t->numbers.v);
	free(t->slot);
	memset(t, 0, sizeof(*t));
}

static uint32_t *slot_of(struct us_trie *t, uint32_t parent, us_gva pc, uint8_t flags)
{
	size_t i = us_hash_pair(&t->seed, parent, pc) & (t->n_slot - 1);
	for (; t->slot[i]; i = (i + 1) & (t->n_slot - 1)) {
		const struct us_trie_node *n = &t->nodes.v[t->slot[i]];
		if (n->pc == pc && n->parent == parent && n->flags == flags)
			break;
	}
	return &t->slot[i];
}

static bool grow(struct us_trie *t)
{
	size_t n = t->n_slot ? t->n_slot * 2 : 1024;
	uint32_t *slot = calloc(n, sizeof(*slot));
	if (!slot)
		return false;
	free(t->slot);
	t->slot = slot;
	t->n_slot = n;
	for (size_t i = 1; i < t->nodes.n; i++) {
		const struct us_trie_node *k = &t->nodes.v[i];
		*slot_of(t, k->parent, k->pc, k->flags) = (uint32_t)i;
	}
	return true;
}

uint32_t us_trie_child(struct us_trie *t, uint32_t parent, us_gva pc, uint8_t flags)
{
	if (t->nodes.n * 2 >= t->n_slot && !grow(t))
		return US_TRIE_NONE;
	uint32_t *slot = slot_of(t, parent, pc, flags);
	if (*slot)
		return *slot;
	if (t->nodes.n >= US_TRIE_NONE)
		return US_TRIE_NONE;
	struct us_trie_node *n = us_vec_push(&t->nodes);
	uint8_t *depth = n ? us_vec_push(&t->depths) : NULL;
	if (!depth)
		return US_TRIE_NONE;
	*n = (struct us_trie_node){ pc, parent, US_TRIE_NONE, flags };
	*depth = (uint8_t)(t->depths.v[parent] + 1);
	return *slot = (uint32_t)(t->nodes.n - 1);
}

int us_trie_add(struct us_trie *t, uint32_t parent_number, us_gva pc, uint8_t flags)
{
	uint32_t parent = us_trie_node_of(t, parent_number);
	if (parent == US_TRIE_NONE || t->depths.v[parent] >= US_MAX_FRAMES)
		return -EBADMSG;
	uint32_t node = us_trie_child(t, parent, pc, flags);
	uint32_t *number = node == US_TRIE_NONE ? NULL : us_vec_push(&t->numbers);
	if (!number)
		return -ENOMEM;
	*number = node;
	return 0;
}
