/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trie.h: the distinct stacks of a recording.
 *
 * A writer remembers a bounded number of stacks, and may write a path again under a new
 * number.  Here each path is one node, whatever its numbers in the file.
 */
#ifndef US_PROFILE_TRIE_H
#define US_PROFILE_TRIE_H

#include "base/err.h"
#include "base/pair_map.h"
#include "profile/slots.h"
#include "store/store.h"
#include "unwind/unwind.h"

#include <stdbool.h>

#define US_TRIE_NONE UINT32_MAX

/* [0] is the empty stack. Parents have lower numbers. */
struct us_trie_node {
	us_gva pc;
	uint32_t parent;
	/* The hash of its path, until us_trie_seal().  Then the caller's: at first
	 * US_TRIE_NONE, 0 for the empty stack. */
	uint32_t mark;
	/* The nearest of itself and its callers that is no frame; 0: none. */
	uint32_t no_frame;
	uint8_t flags; /* enum us_pc_flag */
	uint8_t depth;
};

/* The flags of nodes that are no frames. */
#define US_TRIE_EPOCH (1 << 7) /* in addition to enum us_pc_flag: profile_priv.h */
#define US_TRIE_PHASE (1 << 6)
#define US_TRIE_NO_FRAME                                                               \
	(US_TRIE_EPOCH | US_TRIE_PHASE | US_PC_SPACE | US_PC_EXIT | US_PC_TASK)

struct us_trie {
	struct {
		struct us_trie_node *v;
		size_t n, cap;
	} nodes;
	struct {
		uint32_t *v;
		size_t n, cap;
	} numbers;	 /* by number in the file: node */
	bool renumbered; /* some nodes differ from the number */
	bool sealed;
	struct us_slots slots; /* nodes by (parent, pc, flags) */
	struct us_hash_seed seed;
};

US_MUST_CHECK int us_trie_init(struct us_trie *t); /* 0 or -ENOMEM */
void us_trie_fini(struct us_trie *t);		   /* accepts a zeroed one */

/* Add a path for the file's next number.  -EBADMSG: parent is not a number, or the
 * stack is deeper than US_MAX_FRAMES; -ENOMEM. */
US_MUST_CHECK int us_trie_add(struct us_trie *t, uint32_t parent_number, us_gva pc,
			      uint8_t flags);

/* The same for the next n numbers.  Much faster: their cache misses overlap. */
US_MUST_CHECK int us_trie_add_all(struct us_trie *t, const struct us_stack_node *v,
				  size_t n);

/* The child of a node for pc and flags, made if needed, at any depth.  US_TRIE_NONE:
 * out of memory or of numbers, or the trie is sealed. */
uint32_t us_trie_child(struct us_trie *t, uint32_t parent, us_gva pc, uint8_t flags);

/* No more nodes will be added: frees the table that finds a node by its parent. */
void us_trie_seal(struct us_trie *t);

/* The node of a number in the file; US_TRIE_NONE: there is none. */
static inline uint32_t us_trie_node_of(const struct us_trie *t, uint32_t number)
{
	if (number >= t->numbers.n)
		return US_TRIE_NONE;
	return t->renumbered ? t->numbers.v[number] : number;
}

#endif
