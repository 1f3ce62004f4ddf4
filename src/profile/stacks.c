/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/stacks.c: see stacks.h. */
#include "profile/stacks.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/profile_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct builder {
	struct us_profile *p;
	struct us_pair_map place_of; /* (site, 0) or (function, 1) to index + 1 */
	/* By node of the trie, as a caller: index + 1.  Most are in many stacks. */
	uint32_t *of_caller;
	struct {
		struct us_profile_place *v;
		size_t n, cap;
	} places;
	struct {
		struct us_profile_place_frame *v;
		size_t n, cap;
	} frames;
	struct {
		uint32_t *v;
		size_t n, cap;
	} path;
	struct {
		struct us_profile_stack *v;
		size_t n, cap;
	} stacks;
};

/* Prefer a module that gives names, because images may overlap. */
static uint32_t module_at(const struct us_profile *p, us_gva pc)
{
	uint32_t found = US_STACK_NO_MODULE;
	for (size_t i = 0; i < p->modules.n; i++) {
		const struct us_profile_module *m = &p->modules.v[i];
		if (pc < m->m.start || pc >= m->m.end)
			continue;
		if (m->used)
			return (uint32_t)i;
		found = (uint32_t)i;
	}
	return found;
}

static bool push_frame(struct builder *b, uint32_t func, uint32_t line)
{
	struct us_profile_place_frame *f = us_vec_push(&b->frames);
	if (f)
		*f = (struct us_profile_place_frame){ func, line };
	return f != NULL;
}

static bool push_place(struct builder *b, us_gva pc, uint32_t module, uint32_t n)
{
	struct us_profile_place *x = us_vec_push(&b->places);
	if (x)
		*x = (struct us_profile_place){ pc, module, (uint32_t)b->frames.n, n };
	return x != NULL;
}

static bool push_path(struct builder *b, uint32_t place)
{
	uint32_t *slot = us_vec_push(&b->path);
	if (slot)
		*slot = place;
	return slot != NULL;
}

/* A function without a trie node: a made-up one, or one of a counted profile. */
static bool push_func(struct builder *b, uint32_t func)
{
	if (func == US_PROFILE_NONE)
		return false;
	uint32_t *known = us_pair_map_at(&b->place_of, func, 1);
	if (!known)
		return false;
	if (!*known) {
		const struct us_profile_func *f = &b->p->funcs.v[func];
		uint32_t module = f->start ? module_at(b->p, f->start)
					   : US_STACK_NO_MODULE;
		if (!push_place(b, f->start, module, 1) ||
		    !push_frame(b, func, f->line))
			return false;
		*known = (uint32_t)b->places.n;
	}
	return push_path(b, *known - 1);
}

/* A node of the trie, which the call tree has already named. */
static bool push_node(struct builder *b, uint32_t node, bool is_return)
{
	struct us_profile *p = b->p;
	const struct us_trie_node *t = &p->trie.nodes.v[node];
	const struct us_profile_site *site = us_profile_site(p, node, is_return);
	uint32_t *known = site ? us_pair_map_at(&b->place_of,
						(uint64_t)(site - p->sites.v), 0)
			       : NULL;
	if (!known)
		return false;
	if (!*known) {
		us_gva pc = t->pc - is_return;
		bool host = t->flags & US_PC_HOST;
		if (!push_place(b, pc, host ? US_STACK_NO_MODULE : module_at(p, pc),
				site->n))
			return false;
		for (uint32_t i = 0; i < site->n; i++) {
			const struct us_profile_frame *f =
				&p->frames.v[site->first + i];
			if (!push_frame(b, f->func, f->line))
				return false;
		}
		*known = (uint32_t)b->places.n;
	}
	return push_path(b, *known - 1);
}

static bool push_caller(struct builder *b, uint32_t node)
{
	const struct us_trie_node *t = &b->p->trie.nodes.v[node];
	if (b->of_caller[node])
		return push_path(b, b->of_caller[node] - 1);
	if (!push_node(b, node, !(t->flags & US_PC_EXACT)))
		return false;
	b->of_caller[node] = b->path.v[b->path.n - 1] + 1;
	return true;
}

/* The same frames as in the call tree, from the other end (tree.c). */
static bool push_stack_of(struct builder *b, uint32_t key)
{
	struct us_profile *p = b->p;
	uint32_t stack = key / US_N_KIND;
	uint32_t top = us_profile_top(p, key);
	if (top != US_PROFILE_NO_TOP && !push_func(b, top))
		return false;
	for (uint32_t at = stack; at; at = p->trie.nodes.v[at].parent) {
		uint8_t flags = p->trie.nodes.v[at].flags;
		if (flags & US_PROFILE_PHASE) {
			us_gva phase = p->trie.nodes.v[at].pc;
			if (!push_func(b, us_profile_phase_function(p, phase)))
				return false;
			continue;
		}
		if (!us_profile_in_part(p, &p->trie.nodes.v[at]))
			continue;
		if (flags & US_PC_HOST && flags & US_PC_EXIT) {
			if (!push_func(b, us_profile_exit_frame(p, at)))
				return false;
		} else if (!(flags & US_PROFILE_NO_FRAME)) {
			bool is_caller = at != stack || p->opts.waits;
			if (!(is_caller ? push_caller(b, at) : push_node(b, at, false)))
				return false;
		}
	}
	return true;
}

static bool push_stack(struct builder *b, uint32_t key, uint32_t first, uint16_t lane,
		       uint64_t weight)
{
	static const uint8_t state[US_N_KIND] = {
		[US_KIND_GUEST] = US_VCPU_GUEST,
		[US_KIND_EXIT] = US_VCPU_EXIT,
		[US_KIND_READY] = US_VCPU_READY,
	};
	const struct us_profile *p = b->p;
	struct us_profile_stack *s = us_vec_push(&b->stacks);
	if (!s)
		return false;
	uint32_t inner = us_profile_guest_node(p, key / US_N_KIND);
	*s = (struct us_profile_stack){
		.first = first,
		.n = (uint32_t)b->path.n - first,
		.weight = weight,
		.key = key,
		.node = inner,
		.lane = lane,
		.vcpu = lane == US_STACK_NO_LANE ? US_STACK_NO_VCPU
						 : p->lanes.v[lane].vcpu,
		.state = state[key % US_N_KIND],
		.user = p->trie.nodes.v[inner].flags & US_PC_USER,
	};
	return true;
}

static bool push_vcpus(struct builder *b, uint32_t key, uint32_t first)
{
	for (uint32_t i = 0; i < b->p->lanes.n; i++) {
		uint32_t weight = us_profile_of_vcpu(b->p, key, i);
		if (weight && !push_stack(b, key, first, (uint16_t)i, weight))
			return false;
	}
	return true;
}

static bool add_sampled(struct builder *b)
{
	struct us_profile *p = b->p;
	for (size_t i = 0; i < p->keys.n; i++) {
		uint32_t key = p->keys.v[i], first = (uint32_t)b->path.n;
		if (p->key_node[key] == US_PROFILE_NONE)
			continue;
		bool ok = push_stack_of(b, key) &&
			  (p->by_vcpu.n_row
				   ? push_vcpus(b, key, first)
				   : push_stack(b, key, first, US_STACK_NO_LANE,
						p->keys.weight[key]));
		if (!ok)
			return false;
	}
	return true;
}

/* A counted profile has no stacks but those of the tree. */
static bool add_counted(struct builder *b)
{
	struct us_profile *p = b->p;
	for (uint32_t i = 1; i < p->nodes.n; i++) {
		const struct us_profile_node *n = &p->nodes.v[i];
		uint32_t first = (uint32_t)b->path.n;
		if (!n->self && !n->calls)
			continue;
		for (uint32_t up = i; up; up = p->nodes.v[up].parent)
			if (!push_func(b, p->nodes.v[up].func))
				return false;
		struct us_profile_stack *s = us_vec_push(&b->stacks);
		if (!s)
			return false;
		*s = (struct us_profile_stack){
			.first = first,
			.n = (uint32_t)b->path.n - first,
			.weight = n->self,
			.calls = n->calls,
			.vcpu = US_STACK_NO_VCPU,
			.lane = US_STACK_NO_LANE,
			.state = US_VCPU_GUEST,
		};
	}
	return true;
}

int us_profile_stacks(const struct us_profile *p, struct us_profile_stacks *ret)
{
	/* Not const: the functions that look up names cache what they find.  All of
	 * these were looked up before. */
	struct builder b = { .p = (struct us_profile *)p };
	b.of_caller = calloc(p->trie.nodes.n, sizeof(*b.of_caller));
	bool ok = b.of_caller &&
		  (us_profile_is_counted(p) ? add_counted(&b) : add_sampled(&b));
	us_pair_map_fini(&b.place_of);
	free(b.of_caller);
	*ret = (struct us_profile_stacks){
		b.places.v, b.frames.v, b.path.v, b.stacks.v,
		b.places.n, b.frames.n, b.path.n, b.stacks.n,
	};
	if (!ok)
		us_profile_stacks_fini(ret);
	return ok ? 0 : -ENOMEM;
}

void us_profile_stacks_fini(struct us_profile_stacks *s)
{
	free(s->place);
	free(s->frame);
	free(s->path);
	free(s->stack);
	*s = (struct us_profile_stacks){ 0 };
}
