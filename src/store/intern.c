/* SPDX-License-Identifier: GPL-2.0-or-later */
/* intern.c: see intern.h. */
#include "store/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_NODES  4096U
#define FIRST_STACKS 1024U

_Static_assert(FIRST_NODES > 2 * US_MAX_FRAMES, "an empty trie must take any stack");

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 32;
}

/* Flags are rarely set, and the same address with others is rarer still. */
static uint8_t flags_of(const uint8_t *flags, size_t i)
{
	return flags ? flags[i] : 0;
}

static uint32_t hash_stack(const struct us_intern *in, const us_gva *pc, size_t n)
{
	uint64_t h = in->seed ^ n;
	for (size_t i = 0; i < n; i++)
		h = mix(h, pc[i]);
	return (uint32_t)mix(h, h >> 29);
}

static uint32_t hash_child(const struct us_intern *in, uint32_t parent, us_gva pc)
{
	return (uint32_t)mix(mix(in->seed, pc), parent);
}

int us_intern_init(struct us_intern *in)
{
	*in = (struct us_intern){ .cap = FIRST_NODES,
				  .child_slots = 2 * FIRST_NODES,
				  .stack_slots = 2 * FIRST_STACKS };
	if (getrandom(&in->seed, sizeof(in->seed), GRND_NONBLOCK) < 0)
		in->seed = (uint64_t)time(NULL);
	in->pc = calloc(in->cap + 1, sizeof(*in->pc));
	in->parent = calloc(in->cap + 1, sizeof(*in->parent));
	in->flags = calloc(in->cap + 1, sizeof(*in->flags));
	in->child = calloc(in->child_slots, sizeof(*in->child));
	in->stack = calloc(in->stack_slots, sizeof(*in->stack));
	if (in->pc && in->parent && in->flags && in->child && in->stack)
		return 0;
	us_intern_fini(in);
	return -ENOMEM;
}

void us_intern_fini(struct us_intern *in)
{
	free(in->pc);
	free(in->parent);
	free(in->flags);
	free(in->child);
	free(in->stack);
	*in = (struct us_intern){ 0 };
}

void us_intern_forget(struct us_intern *in)
{
	in->base += in->n;
	in->n = 0;
	in->n_stack = 0;
	memset(in->child, 0, in->child_slots * sizeof(*in->child));
	memset(in->stack, 0, in->stack_slots * sizeof(*in->stack));
}

static int grow_stacks(struct us_intern *in)
{
	uint32_t slots = in->stack_slots * 2;
	if (in->stack_slots / 2 >= US_INTERN_MAX_STACKS)
		return -ENOSPC;
	struct us_intern_stack *bigger = calloc(slots, sizeof(*bigger));
	if (!bigger)
		return -ENOSPC;
	for (uint32_t i = 0; i < in->stack_slots; i++) {
		if (!in->stack[i].node)
			continue;
		uint32_t at = in->stack[i].hash & (slots - 1);
		while (bigger[at].node)
			at = (at + 1) & (slots - 1);
		bigger[at] = in->stack[i];
	}
	free(in->stack);
	in->stack = bigger;
	in->stack_slots = slots;
	return 0;
}

static int grow_children(struct us_intern *in, uint32_t slots)
{
	uint32_t *bigger = calloc(slots, sizeof(*bigger));
	if (!bigger)
		return -ENOSPC;
	for (uint32_t i = 1; i <= in->n; i++) {
		uint32_t at = hash_child(in, in->parent[i], in->pc[i]) & (slots - 1);
		while (bigger[at])
			at = (at + 1) & (slots - 1);
		bigger[at] = i;
	}
	free(in->child);
	in->child = bigger;
	in->child_slots = slots;
	return 0;
}

static int grow_nodes(struct us_intern *in)
{
	uint32_t cap = in->cap * 2;
	if (cap > US_INTERN_MAX_NODES)
		return -ENOSPC;
	us_gva *pc = realloc(in->pc, (cap + 1) * sizeof(*pc));
	if (!pc)
		return -ENOSPC;
	in->pc = pc;
	uint32_t *parent = realloc(in->parent, (cap + 1) * sizeof(*parent));
	if (!parent)
		return -ENOSPC;
	in->parent = parent;
	uint8_t *flags = realloc(in->flags, cap + 1);
	if (!flags)
		return -ENOSPC;
	in->flags = flags;
	if (grow_children(in, 2 * cap))
		return -ENOSPC;
	in->cap = cap;
	return 0;
}

/* Find or make the child of parent; 0: no space is left. */
static uint32_t child_of(struct us_intern *in, uint32_t parent, us_gva pc,
			 uint8_t flags)
{
	uint32_t at = hash_child(in, parent, pc) & (in->child_slots - 1);
	for (uint32_t i; (i = in->child[at]); at = (at + 1) & (in->child_slots - 1))
		if (in->pc[i] == pc && in->parent[i] == parent && in->flags[i] == flags)
			return i;
	if (in->n == in->cap)
		return 0;
	in->n++;
	in->pc[in->n] = pc;
	in->parent[in->n] = parent;
	in->flags[in->n] = flags;
	in->child[at] = in->n;
	return in->n;
}

static bool is_stack(const struct us_intern *in, uint32_t node, const us_gva *pc,
		     const uint8_t *flags, size_t n)
{
	for (size_t i = 0; i < n; i++, node = in->parent[node])
		if (!node || in->pc[node] != pc[i] ||
		    in->flags[node] != flags_of(flags, i))
			return false;
	return !node;
}

static int insert(struct us_intern *in, const us_gva *pc, const uint8_t *flags,
		  size_t n, uint32_t *ret)
{
	if (in->n + n > in->cap && grow_nodes(in))
		return -ENOSPC;
	if (in->base > UINT32_MAX - in->n - n)
		return -EOVERFLOW;
	uint32_t node = 0;
	for (size_t i = n; i-- > 0;)
		node = child_of(in, node, pc[i], flags_of(flags, i));
	*ret = node;
	return 0;
}

int us_intern_stack(struct us_intern *in, const us_gva *pc, const uint8_t *flags,
		    size_t n, us_stack_id *ret)
{
	*ret = 0;
	if (!n)
		return 0;
	uint32_t hash = hash_stack(in, pc, n), node;
	uint32_t at = hash & (in->stack_slots - 1);
	for (; (node = in->stack[at].node); at = (at + 1) & (in->stack_slots - 1)) {
		if (in->stack[at].hash == hash && is_stack(in, node, pc, flags, n)) {
			*ret = in->base + node;
			return 0;
		}
	}
	int r = insert(in, pc, flags, n, &node);
	if (r)
		return r;
	*ret = in->base + node;
	in->stack[at] = (struct us_intern_stack){ .hash = hash, .node = node };
	if (++in->n_stack * 2 >= in->stack_slots)
		return grow_stacks(in);
	return 0;
}
