/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * intern.h: give each distinct stack a number.
 *
 * Stacks are paths in a trie whose root is the empty stack.  A node is a program
 * counter, its flags and its parent, the caller.  Two hash tables hold numbers of
 * nodes, not copies: one finds a whole stack in one probe (the common case), the other
 * finds a child of a node when a stack is new.  The file's STACKS chunks are encoded
 * from the array of nodes.
 *
 * It is a cache with a bound.  When it is full, the caller writes out the nodes and
 * calls us_intern_forget().  Numbers continue to rise, so that the file stays valid and
 * only has a path twice.  However many stacks a hostile guest has, memory is bounded
 * (about 14 MB).
 */
#ifndef US_STORE_INTERN_H
#define US_STORE_INTERN_H

#include "store/store.h"

#define US_INTERN_MAX_NODES  (1U << 19)
#define US_INTERN_MAX_STACKS (1U << 18)

struct us_intern {
	/* Nodes 1 to n of this round; [0] is the root. Number in the file: base + i. */
	us_gva *pc;
	uint32_t *parent; /* index in this round, less than the node's own */
	uint8_t *flags;	  /* enum us_pc_flag */
	uint32_t n, cap;
	us_stack_id base;

	uint32_t *child; /* open addressing: indices of nodes by (parent, pc, flags), 0:
			    free */
	uint32_t child_slots;
	struct us_intern_stack {
		uint32_t hash;
		uint32_t node; /* 0: free */
	} * stack;
	uint32_t stack_slots, n_stack;
	uint64_t seed; /* keeps a guest from predicting which stacks collide */
};

US_MUST_CHECK int us_intern_init(struct us_intern *in); /* 0 or -ENOMEM */
void us_intern_fini(struct us_intern *in);		/* accepts a zeroed one */

/*
 * The number of a stack, pc[0] innermost, n at most US_MAX_FRAMES; new nodes are
 * appended.  flags may be NULL: all 0.  -ENOSPC: full, or no memory to grow; some nodes
 * may have been appended.  Right after us_intern_forget() this cannot happen.
 * -EOVERFLOW: no numbers left.
 */
US_MUST_CHECK int us_intern_stack(struct us_intern *in, const us_gva *pc,
				  const uint8_t *flags, size_t n, us_stack_id *ret);
/* Forget all nodes but keep the memory. */
void us_intern_forget(struct us_intern *in);

#endif
