/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree.c: see tree.h. */
#include "trace/tree.h"

#include "trace/reserve.h"

#include <errno.h>
#include <string.h>

int us_tree_init(struct us_tree *t, struct us_counts_vcpu *vcpu,
		 struct us_counts_node *node, uint32_t capacity)
{
	uint32_t n_slot = 16;
	while (n_slot < capacity * 2ULL && n_slot < 1U << 31)
		n_slot *= 2;
	*t = (struct us_tree){
		.node = node, .vcpu = vcpu, .capacity = capacity, .n_slot = n_slot
	};
	t->last = us_reserve(capacity * sizeof(*t->last));
	t->slot = us_reserve(n_slot * sizeof(*t->slot));
	if (!t->last || !t->slot || capacity < 2) {
		us_tree_fini(t);
		return -ENOMEM;
	}
	vcpu->n_node = 1; /* the root */
	t->full = us_tree_find(t, 0, US_COUNTS_FULL, US_COUNTS_FULL);
	return 0;
}

void us_tree_fini(struct us_tree *t)
{
	if (t->last)
		munmap(t->last, t->capacity * sizeof(*t->last));
	if (t->slot)
		munmap(t->slot, t->n_slot * sizeof(*t->slot));
	*t = (struct us_tree){ 0 };
}

static uint32_t hash(uint32_t parent, uint32_t function)
{
	uint64_t key = (uint64_t)parent << 32 | function;
	return (uint32_t)(key * 0x9e3779b97f4a7c15 >> 32);
}

static uint32_t add(struct us_tree *t, uint32_t parent, uint32_t function,
		    uint64_t address)
{
	uint32_t i = t->vcpu->n_node;
	if (i >= t->capacity)
		return 0;
	t->node[i] = (struct us_counts_node){ .address = address,
					      .parent = parent,
					      .function = function };
	/* A reader uses all nodes below n_node. */
	__atomic_store_n(&t->vcpu->n_node, i + 1, __ATOMIC_RELEASE);
	return i;
}

uint32_t us_tree_find(struct us_tree *t, uint32_t parent, uint32_t function,
		      uint64_t address)
{
	uint32_t mask = t->n_slot - 1, i = hash(parent, function) & mask;
	for (; t->slot[i]; i = (i + 1) & mask) {
		const struct us_counts_node *n = &t->node[t->slot[i]];
		if (n->parent == parent && n->function == function)
			break;
	}
	if (!t->slot[i])
		t->slot[i] = add(t, parent, function, address);
	if (!t->slot[i]) {
		t->vcpu->lost++;
		return t->full;
	}
	t->last[parent] = (struct us_tree_last){ .function = function,
						 .child = t->slot[i] };
	return t->slot[i];
}

#define MOVED (UINT32_MAX - 1) /* as function in last: the node has moved to child */

/* The new parent of a node that may have moved; UINT32_MAX: it stays. */
static uint32_t parent_now(const struct us_tree *t, const struct us_counts_node *x,
			   uint32_t parent, uint32_t to)
{
	if (x->parent == parent)
		return to;
	const struct us_tree_last *l = &t->last[x->parent];
	return l->function == MOVED ? l->child : UINT32_MAX;
}

/* A node's number must be above its parent's, so the counts move to new nodes and the
 * old ones stay, empty. */
void us_tree_move(struct us_tree *t, uint32_t n, uint32_t parent, uint32_t to)
{
	uint32_t end = t->vcpu->n_node;
	for (uint32_t i = n; i < end; i++) {
		struct us_counts_node *x = &t->node[i];
		uint32_t up = parent_now(t, x, parent, to);
		if (i == to || up == UINT32_MAX)
			continue;
		uint32_t at = us_tree_find(t, up, x->function, x->address);
		t->node[at].calls += x->calls;
		t->node[at].self += x->self;
		x->calls = x->self = 0;
		t->last[i] = (struct us_tree_last){ .function = MOVED, .child = at };
	}
	for (uint32_t i = n; i < end; i++)
		if (t->last[i].function == MOVED)
			t->last[i] = (struct us_tree_last){ 0 };
}
