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
	uint32_t *number = us_vec_push(&t->numbers);
	return root && number ? 0 : -ENOMEM;
}

void us_trie_fini(struct us_trie *t)
{
	free(t->nodes.v);
	free(t->numbers.v);
	us_slots_fini(&t->slots);
	memset(t, 0, sizeof(*t));
}

void us_trie_seal(struct us_trie *t)
{
	us_slots_fini(&t->slots);
	for (size_t i = 1; i < t->nodes.n && !t->sealed; i++)
		t->nodes.v[i].mark = US_TRIE_NONE;
	t->sealed = true;
}

/* The hash of a path whose caller has this hash.  It does not depend on numbers of
 * nodes, so it is known before the nodes are found. */
static uint32_t hash_of(const struct us_trie *t, uint32_t caller, us_gva pc)
{
	return (uint32_t)us_hash_pair(&t->seed, caller, pc);
}

static struct us_slot *slot_of(const struct us_trie *t, uint32_t hash, uint32_t parent,
			       us_gva pc, uint8_t flags)
{
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

/* There is room for one more in the slots. */
static uint32_t child(struct us_trie *t, uint32_t hash, uint32_t parent, us_gva pc,
		      uint8_t flags)
{
	struct us_slot *slot = slot_of(t, hash, parent, pc, flags);
	if (slot->number)
		return slot->number;
	if (t->nodes.n >= US_TRIE_NONE)
		return US_TRIE_NONE;
	struct us_trie_node *n = us_vec_push(&t->nodes);
	if (!n)
		return US_TRIE_NONE;
	uint32_t number = (uint32_t)(t->nodes.n - 1);
	const struct us_trie_node *up = &t->nodes.v[parent];
	*n = (struct us_trie_node){
		.pc = pc,
		.parent = parent,
		.mark = hash,
		.no_frame = flags & US_TRIE_NO_FRAME ? number : up->no_frame,
		.flags = flags,
		.depth = (uint8_t)(up->depth + 1),
	};
	return slot->number = number;
}

uint32_t us_trie_child(struct us_trie *t, uint32_t parent, us_gva pc, uint8_t flags)
{
	if (t->sealed || us_slots_make_room(&t->slots, t->nodes.n))
		return US_TRIE_NONE;
	return child(t, hash_of(t, t->nodes.v[parent].mark, pc), parent, pc, flags);
}

static int add_number(struct us_trie *t, uint32_t node)
{
	uint32_t *number = node == US_TRIE_NONE ? NULL : us_vec_push(&t->numbers);
	if (!number)
		return -ENOMEM;
	*number = node;
	t->renumbered |= node != t->numbers.n - 1;
	return 0;
}

static int parent_of(const struct us_trie *t, uint32_t parent_number, uint32_t *ret)
{
	*ret = us_trie_node_of(t, parent_number);
	return *ret == US_TRIE_NONE || t->nodes.v[*ret].depth >= US_MAX_FRAMES
		       ? -EBADMSG
		       : 0;
}

int us_trie_add(struct us_trie *t, uint32_t parent_number, us_gva pc, uint8_t flags)
{
	uint32_t parent;
	int rc = parent_of(t, parent_number, &parent);
	return rc ? rc : add_number(t, us_trie_child(t, parent, pc, flags));
}

#define AT_ONCE 64

/* Find the hashes of the next n numbers, and begin to load their slots. */
static int hash_all(const struct us_trie *t, const struct us_stack_node *v, size_t n,
		    uint32_t hash[AT_ONCE])
{
	for (size_t i = 0; i < n; i++) {
		size_t known = t->numbers.n, parent = v[i].parent;
		if (parent >= known + i)
			return -EBADMSG;
		uint32_t caller =
			parent >= known
				? hash[parent - known]
				: t->nodes.v[us_trie_node_of(t, v[i].parent)].mark;
		hash[i] = hash_of(t, caller, v[i].pc);
		__builtin_prefetch(us_slots_first(&t->slots, hash[i]), 1);
	}
	return 0;
}

/* Begin to load the nodes that they most likely are. */
static void fetch_nodes(const struct us_trie *t, const uint32_t hash[AT_ONCE], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct us_slot *x = us_slots_first(&t->slots, hash[i]);
		while (x->number && x->hash != hash[i])
			x = us_slots_next(&t->slots, x);
		__builtin_prefetch(&t->nodes.v[x->number]);
	}
}

static int add_some(struct us_trie *t, const struct us_stack_node *v, size_t n)
{
	uint32_t hash[AT_ONCE], parent;
	if (t->sealed || us_slots_make_room(&t->slots, t->nodes.n + n))
		return -ENOMEM;
	int rc = hash_all(t, v, n, hash);
	if (rc)
		return rc;
	fetch_nodes(t, hash, n);
	for (size_t i = 0; i < n && !rc; i++) {
		rc = parent_of(t, v[i].parent, &parent);
		rc = rc ? rc
			: add_number(t, child(t, hash[i], parent, v[i].pc, v[i].flags));
	}
	return rc;
}

int us_trie_add_all(struct us_trie *t, const struct us_stack_node *v, size_t n)
{
	int rc = 0;
	for (size_t some; n && !rc; v += some, n -= some) {
		some = n < AT_ONCE ? n : AT_ONCE;
		rc = add_some(t, v, some);
	}
	return rc;
}
