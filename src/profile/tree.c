/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/tree.c: from the recording's stacks to the tree of functions. */
#include "profile/profile_priv.h"

#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct us_err *e)
{
	return us_fail(e, -ENOMEM, "report: out of memory for the call tree");
}

uint32_t us_profile_child(struct us_profile *p, struct us_profile_children *children,
			  uint32_t parent, uint32_t func, uint32_t line)
{
	struct us_slots *s = &children->slots;
	uint32_t hash = (uint32_t)us_hash_pair(&children->seed, parent, func);
	if (us_slots_make_room(s, p->nodes.n) || p->nodes.n >= US_PROFILE_NONE)
		return US_PROFILE_NONE;
	struct us_slot *x = us_slots_first(s, hash);
	for (; x->number; x = us_slots_next(s, x)) {
		const struct us_profile_node *n = &p->nodes.v[x->number];
		if (x->hash == hash && n->parent == parent && n->func == func)
			return x->number;
	}
	struct us_profile_node *n = us_vec_push(&p->nodes);
	if (!n)
		return US_PROFILE_NONE;
	*n = (struct us_profile_node){ .func = func, .parent = parent, .line = line };
	*x = (struct us_slot){ (uint32_t)(p->nodes.n - 1), hash };
	return x->number;
}

bool us_profile_in_part(const struct us_profile *p, const struct us_trie_node *s)
{
	bool user = s->flags & US_PC_USER;
	return p->opts.part == US_PART_ALL || user == (p->opts.part == US_PART_USER);
}

/* The same for a sample, by its innermost frame.  Without a stack it is in no part. */
static bool has_part(const struct us_profile *p, uint32_t key)
{
	const struct us_trie_node *s = &p->trie.nodes.v[key / US_N_KIND];
	return p->opts.part == US_PART_ALL ||
	       (key / US_N_KIND && !(s->flags & US_PROFILE_NO_FRAME) &&
		us_profile_in_part(p, s));
}

/* "[vm exit: port I/O, in the VMM]", if the recording has the reason. */
uint32_t us_profile_exit_frame(struct us_profile *p, uint32_t stack)
{
	char words[64], name[96];
	const struct us_trie_node *v = p->trie.nodes.v;
	for (stack = v[stack].no_frame; stack; stack = v[v[stack].parent].no_frame) {
		if (!(v[stack].flags & US_PC_EXIT) ||
		    !us_exit_words(v[stack].pc, words, sizeof(words)))
			continue;
		snprintf(name, sizeof(name), US_FRAME_EXIT_FOR "%s]", words);
		return us_profile_special(p, name);
	}
	return us_profile_special(p, US_FRAME_EXIT);
}

/* Add the function that stands as the caller of the host's frames. */
static uint32_t hang_exit(struct us_profile *p, struct us_profile_children *children,
			  uint32_t node, uint32_t at)
{
	if (!us_profile_in_part(p, &p->trie.nodes.v[at]))
		return node;
	uint32_t func = us_profile_exit_frame(p, at);
	return func == US_PROFILE_NONE ? func
				       : us_profile_child(p, children, node, func, 0);
}

/* Add the frames of a node of the trie, outermost first, below those of its caller. */
static uint32_t hang(struct us_profile *p, struct us_profile_children *children,
		     uint32_t at, bool is_return)
{
	uint32_t node = p->trie.nodes.v[p->trie.nodes.v[at].parent].mark;
	uint8_t flags = p->trie.nodes.v[at].flags;
	if (flags & US_PC_HOST && flags & US_PC_EXIT)
		return hang_exit(p, children, node, at);
	if (flags & US_PROFILE_PHASE) {
		uint32_t func = us_profile_phase_function(p, p->trie.nodes.v[at].pc);
		return func == US_PROFILE_NONE
			       ? func
			       : us_profile_child(p, children, node, func, 0);
	}
	if (flags & US_PROFILE_NO_FRAME || !us_profile_in_part(p, &p->trie.nodes.v[at]))
		return node;
	const struct us_profile_site *site = us_profile_site(p, at, is_return);
	if (!site)
		return US_PROFILE_NONE;
	for (uint32_t i = site->n; i-- > 0 && node != US_PROFILE_NONE;) {
		const struct us_profile_frame *f = &p->frames.v[site->first + i];
		struct us_profile_func *func = &p->funcs.v[f->func];
		func->host |= (flags & US_PC_HOST) != 0;
		func->user |= (flags & US_PC_USER) != 0;
		func->kernel |= !(flags & (US_PC_HOST | US_PC_USER));
		node = us_profile_child(p, children, node, f->func, f->line);
	}
	return node;
}

static bool find_keys(struct us_profile *p)
{
	const struct us_slices *s = &p->running;
	struct us_profile_keys *k = &p->keys;
	k->v = calloc(s->sums.n + 1, sizeof(*k->v));
	k->weight = calloc(s->n_open + 1, sizeof(*k->weight));
	if (!k->v || !k->weight)
		return false;
	for (size_t i = 0; i < s->sums.n; i++) {
		const struct us_slice_sum *x = &s->sums.v[i];
		if (!k->weight[x->key])
			k->v[k->n++] = x->key;
		k->weight[x->key] += x->weight;
	}
	return true;
}

/* Symbolize only stacks that pass the filters. */
static void mark_callers(struct us_profile *p)
{
	const struct us_profile_keys *keys = &p->keys;
	for (size_t i = 0; i < keys->n; i++) {
		uint32_t s = keys->v[i] / US_N_KIND;
		for (s = p->trie.nodes.v[s].parent; s; s = p->trie.nodes.v[s].parent) {
			if (p->trie.nodes.v[s].mark == 0)
				break;
			p->trie.nodes.v[s].mark = 0;
		}
	}
}

/* Parents have lower numbers, so their frames already exist. */
static bool hang_callers(struct us_profile *p, struct us_profile_children *children)
{
	for (size_t i = 1; i < p->trie.nodes.n; i++) {
		struct us_trie_node *s = &p->trie.nodes.v[i];
		if (s->mark == US_PROFILE_NONE)
			continue;
		s->mark = hang(p, children, (uint32_t)i, !(s->flags & US_PC_EXACT));
		if (s->mark == US_PROFILE_NONE)
			return false;
	}
	return true;
}

uint32_t us_profile_top(struct us_profile *p, uint32_t key)
{
	uint32_t stack = key / US_N_KIND, kind = key % US_N_KIND;
	uint8_t flags = p->trie.nodes.v[stack].flags;
	if (p->opts.waits)
		return us_profile_wait_top(p, key);
	bool has_stack = stack && !(flags & US_PROFILE_NO_FRAME);
	if (flags & US_PC_HOST && (has_stack || kind != US_KIND_GUEST))
		return US_PROFILE_NO_TOP;
	if (kind == US_KIND_EXIT)
		return us_profile_exit_frame(p, stack);
	if (kind == US_KIND_READY)
		return us_profile_special(p, US_FRAME_READY);
	return has_stack ? US_PROFILE_NO_TOP : us_profile_special(p, US_FRAME_NO_STACK);
}

static uint32_t hang_leaf(struct us_profile *p, struct us_profile_children *children,
			  uint32_t key)
{
	uint32_t stack = key / US_N_KIND, node = 0;
	bool none = !stack || p->trie.nodes.v[stack].flags & US_PROFILE_NO_FRAME;
	/* A waiting task has called the scheduler, so its pc is a return address. */
	if (stack && (!none || p->n_phase || p->opts.roots || p->opts.waits))
		node = hang(p, children, stack, p->opts.waits);
	uint32_t top = us_profile_top(p, key);
	if (node == US_PROFILE_NONE || top == US_PROFILE_NO_TOP)
		return node;
	if (top == US_PROFILE_NONE)
		return top;
	return us_profile_child(p, children, node, top, 0);
}

static bool hang_leaves(struct us_profile *p, struct us_profile_children *children)
{
	const struct us_profile_keys *keys = &p->keys;
	for (size_t i = 0; i < keys->n; i++) {
		uint32_t key = keys->v[i];
		if (!has_part(p, key)) {
			p->sum.other_part += keys->weight[key];
			continue;
		}
		p->key_node[key] = hang_leaf(p, children, key);
		if (p->key_node[key] == US_PROFILE_NONE)
			return false;
	}
	return true;
}

static bool hang_all(struct us_profile *p, struct us_profile_children *children)
{
	struct us_profile_node *root = us_vec_push(&p->nodes);
	if (!root || !find_keys(p))
		return false;
	mark_callers(p);
	return hang_callers(p, children) && hang_leaves(p, children);
}

int us_profile_build_tree(struct us_profile *p, struct us_err *e)
{
	struct us_profile_children children = { .seed = us_hash_seed() };
	p->n_key = p->trie.nodes.n * US_N_KIND;
	p->key_node = malloc(p->n_key * sizeof(*p->key_node));
	if (!p->key_node)
		return no_memory(e);
	memset(p->key_node, 0xff, p->n_key * sizeof(*p->key_node));
	bool ok = hang_all(p, &children);
	us_slots_fini(&children.slots);
	return ok ? 0 : no_memory(e);
}
