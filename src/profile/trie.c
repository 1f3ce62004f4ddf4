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
	us_slots_fini(&t->slots);
	memset(t, 0, sizeof(*t));
}

/* Node numbers, and therefore slot numbers, have 32 bits. */
static uint32_t hash_of(const struct us_trie *t, uint32_t parent, us_gva pc)
{
	return (uint32_t)us_hash_pair(&t->seed, parent, pc);
}

void us_trie_seal(struct us_trie *t)
{
	us_slots_fini(&t->slots);
	t->sealed = true;
}

static struct us_slot *slot_of(const struct us_trie *t, uint32_t parent, us_gva pc,
			       uint8_t flags)
{
	uint32_t hash = hash_of(t, parent, pc);
	struct us_slot *x = us_slots_first(&t->slots, hash);
	for (; x->number; x = us_slots_next(&t->slots, x)) {
		const struct us_trie_node *n = &t->nodes.v[x->number];
		if (x->hash == hash && n->pc == pc && n->parent == parent &&
		    n->flags == flags)
			return x;
	}
	x->hash = hash;
	return x;
}

uint32_t us_trie_child(struct us_trie *t, uint32_t parent, us_gva pc, uint8_t flags)
{
	if (t->sealed || us_slots_make_room(&t->slots, t->nodes.n))
		return US_TRIE_NONE;
	struct us_slot *slot = slot_of(t, parent, pc, flags);
	if (slot->number)
		return slot->number;
	if (t->nodes.n >= US_TRIE_NONE)
		return US_TRIE_NONE;
	struct us_trie_node *n = us_vec_push(&t->nodes);
	uint8_t *depth = n ? us_vec_push(&t->depths) : NULL;
	if (!depth)
		return US_TRIE_NONE;
	*n = (struct us_trie_node){ pc, parent, US_TRIE_NONE, flags };
	*depth = (uint8_t)(t->depths.v[parent] + 1);
	return slot->number = (uint32_t)(t->nodes.n - 1);
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
	t->renumbered |= node != t->numbers.n - 1;
	return 0;
}
