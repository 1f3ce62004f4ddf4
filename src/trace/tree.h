/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree.h: the call tree of one vCPU, in the file of plugin_counts.h: a node for each
 * function on each path that led to it.
 *
 * Hot path: nothing here allocates after the start.  A full tree is not an error: what
 * does not fit is counted, and goes to the node US_COUNTS_FULL.
 */
#ifndef US_TRACE_TREE_H
#define US_TRACE_TREE_H

#include "vmm/plugin_counts.h"

#include <stdbool.h>

/* The child that was looked up last: most calls of a function go to the same one. */
struct us_tree_last {
	union {
		struct {
			uint32_t function, child;
		};
		uint64_t both; /* both in one load: function in the lower half */
	};
};

struct us_tree {
	struct us_counts_node *node; /* the file's */
	struct us_tree_last *last;   /* by node */
	struct us_counts_vcpu *vcpu; /* the file's */
	uint32_t capacity;
	uint32_t *slot;	 /* hash table of node numbers; 0: empty */
	uint32_t n_slot; /* a power of two, at least twice the capacity */
	uint32_t full;	 /* the node US_COUNTS_FULL */
};

/* node and vcpu stay the caller's, must be zeroed, and outlive the tree.  0 or
 * -ENOMEM. */
int us_tree_init(struct us_tree *t, struct us_counts_vcpu *vcpu,
		 struct us_counts_node *node, uint32_t capacity);
void us_tree_fini(struct us_tree *t);

/* The child of parent for this function, made if there is room.  address: the
 * function's. */
uint32_t us_tree_find(struct us_tree *t, uint32_t parent, uint32_t function,
		      uint64_t address);

/* Move what was added below parent, since there were n nodes, to below `to`, in the
 * same shape. */
void us_tree_move(struct us_tree *t, uint32_t n, uint32_t parent, uint32_t to);

static inline uint32_t us_tree_child(struct us_tree *t, uint32_t parent,
				     uint32_t function, uint64_t address)
{
	const struct us_tree_last *l = &t->last[parent];
	if (l->function == function) /* which is never 0 */
		return l->child;
	return us_tree_find(t, parent, function, address);
}

#endif
