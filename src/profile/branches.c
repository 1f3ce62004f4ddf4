/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/branches.c: see branches.h. */
#include "profile/branches.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/profile_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct builder {
	const struct us_profile *p;
	struct us_pair_map children; /* (parent, function) to index */
	struct {
		struct us_branch *v;
		size_t n, cap;
	} branches;
};

static bool begin(struct builder *b, const struct us_profile *p)
{
	*b = (struct builder){ .p = p };
	struct us_branch *root = us_vec_push(&b->branches);
	if (root)
		root->func = US_EACH_FUNCTION;
	return root != NULL;
}

/* The branch of func that is a child of parent; 0: out of memory. */
static uint32_t below(struct builder *b, uint32_t parent, uint32_t func)
{
	uint32_t *have = us_pair_map_at(&b->children, parent, func);
	if (!have || *have)
		return have ? *have : 0;
	struct us_branch *x = us_vec_push(&b->branches);
	if (!x)
		return 0;
	*x = (struct us_branch){ .func = func, .parent = parent };
	return *have = (uint32_t)(b->branches.n - 1);
}

struct order {
	const struct us_profile *p;
	const struct us_branch *v;
};

/* Lightest first, because each is linked in front of the earlier ones. */
static int compare(const void *a, const void *b, void *ctx)
{
	const struct order *o = ctx;
	const struct us_branch *x = &o->v[*(const uint32_t *)a];
	const struct us_branch *y = &o->v[*(const uint32_t *)b];
	if (x->total != y->total)
		return x->total < y->total ? -1 : 1;
	return strcmp(o->p->funcs.v[y->func].name, o->p->funcs.v[x->func].name);
}

/* All branches but the root by their parents.  end[parent]: where its children end. */
static void group(const struct builder *b, uint32_t *order, uint32_t *end)
{
	const struct us_branch *v = b->branches.v;
	size_t n = b->branches.n;
	uint32_t sum = 0;
	for (size_t i = 1; i < n; i++)
		end[v[i].parent]++;
	for (size_t i = 0; i < n; i++) {
		uint32_t children = end[i];
		end[i] = sum;
		sum += children;
	}
	for (size_t i = 1; i < n; i++)
		order[end[v[i].parent]++] = (uint32_t)i;
}

/* Siblings are sorted apart: most are few, and far more branches are none. */
static int link_children(struct builder *b)
{
	size_t n = b->branches.n;
	struct us_branch *v = b->branches.v;
	_cleanup_free_ uint32_t *order = calloc(n, sizeof(*order));
	_cleanup_free_ uint32_t *end = calloc(n, sizeof(*end));
	if (!order || !end)
		return -ENOMEM;
	group(b, order, end);
	uint32_t first = 0;
	for (size_t i = 0; i < n; first = end[i++])
		if (end[i] - first > 1)
			qsort_r(order + first, end[i] - first, sizeof(*order), compare,
				&(struct order){ b->p, v });
	for (size_t i = 0; i + 1 < n; i++) {
		struct us_branch *x = &v[order[i]];
		x->next = v[x->parent].child;
		v[x->parent].child = order[i];
	}
	return 0;
}

static int finish(struct builder *b, bool ok, struct us_branches *ret)
{
	int r = ok ? link_children(b) : -ENOMEM;
	us_pair_map_fini(&b->children);
	*ret = (struct us_branches){ b->branches.v, b->branches.n };
	if (r)
		us_branches_fini(ret);
	return r;
}

static bool is_outermost(const struct us_profile *p, uint32_t node)
{
	uint32_t func = p->nodes.v[node].func;
	for (uint32_t up = p->nodes.v[node].parent; up; up = p->nodes.v[up].parent)
		if (p->nodes.v[up].func == func)
			return false;
	return true;
}

static bool add_callers(struct builder *b, uint32_t node, uint64_t weight)
{
	const struct us_profile_node *v = b->p->nodes.v;
	uint32_t at = 0;
	b->branches.v[0].total += weight;
	for (; node; node = v[node].parent) {
		at = below(b, at, v[node].func);
		if (!at)
			return false;
		b->branches.v[at].total += weight;
	}
	b->branches.v[at].self += weight; /* nobody called this one */
	return true;
}

int us_profile_callers(const struct us_profile *p, uint32_t func,
		       struct us_branches *ret)
{
	struct builder b;
	bool ok = begin(&b, p);
	for (uint32_t i = 1; ok && i < p->nodes.n; i++) {
		const struct us_profile_node *n = &p->nodes.v[i];
		if (func == US_EACH_FUNCTION && n->self)
			ok = add_callers(&b, i, n->self);
		else if (func == n->func && n->total && is_outermost(p, i))
			ok = add_callers(&b, i, n->total);
	}
	return finish(&b, ok, ret);
}

/* A node's branch is a child of its parent's, or of the root if the parent has none. */
static bool add_callee(struct builder *b, uint32_t node, uint32_t *branch_of,
		       bool is_top)
{
	const struct us_profile_node *n = &b->p->nodes.v[node];
	uint32_t parent = is_top ? 0 : branch_of[n->parent];
	uint32_t at = below(b, parent, n->func);
	if (!at)
		return false;
	branch_of[node] = at;
	b->branches.v[at].self += n->self;
	b->branches.v[at].total += n->total;
	if (!parent)
		b->branches.v[0].total += n->total;
	return true;
}

int us_profile_callees(const struct us_profile *p, uint32_t func,
		       struct us_branches *ret)
{
	struct builder b;
	_cleanup_free_ uint32_t *branch_of = calloc(p->nodes.n + 1, sizeof(*branch_of));
	bool ok = begin(&b, p) && branch_of;
	for (uint32_t i = 1; ok && i < p->nodes.n; i++) {
		const struct us_profile_node *n = &p->nodes.v[i];
		bool inside = branch_of[n->parent] != 0;
		if (inside || func == US_EACH_FUNCTION || func == n->func)
			ok = add_callee(&b, i, branch_of, !inside);
	}
	return finish(&b, ok, ret);
}

int us_profile_call_tree(const struct us_profile *p, struct us_branches *ret)
{
	return us_profile_callees(p, US_EACH_FUNCTION, ret);
}

void us_branches_fini(struct us_branches *b)
{
	free(b->v);
	*b = (struct us_branches){ 0 };
}
