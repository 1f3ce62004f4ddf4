/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/guest_builds.c: see guest_builds.h. */
#include "profile/guest_builds.h"

#include "base/cleanup.h"
#include "base/pair_map.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Two builds are compared by so many functions, out of so many: a recording may have
 * very many of both. */
#define MOST_SHIFTS 32
#define MOST_STEPS  1024

struct entry {
	uint64_t module, name; /* hashes */
	uint64_t at;	       /* as in the first layout of its build */
	uint32_t layout, build;
	bool twice; /* some layout has several of this module and name */
	struct us_guest_name *of;
};

struct entries {
	struct entry *v;
	size_t n;
};

static int compare(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

static int by_name(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c = compare(x->module, y->module);
	c = c ? c : compare(x->name, y->name);
	return c ? c : compare(x->layout, y->layout);
}

static int by_layout(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c = compare(x->module, y->module);
	c = c ? c : compare(x->layout, y->layout);
	return c ? c : compare(x->name, y->name);
}

static int by_place(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c = compare(x->module, y->module);
	c = c ? c : compare(x->name, y->name);
	c = c ? c : compare(x->build, y->build);
	return c ? c : compare(x->at, y->at);
}

static int collect(struct us_guest_names *g, uint32_t layout, struct entries *all)
{
	_cleanup_free_ uint64_t *module = calloc(g->modules.n + 1, sizeof(*module));
	if (!module)
		return -1;
	for (size_t i = 0; i < g->modules.n; i++)
		module[i] = us_hash_bytes(g->modules.v[i], strlen(g->modules.v[i]));
	for (size_t i = 0; i < g->n; i++) {
		struct us_guest_name *n = &g->v[i];
		all->v[all->n++] = (struct entry){
			.module = module[n->module],
			.name = us_hash_bytes(n->name, strlen(n->name)),
			.at = n->start,
			.layout = layout,
			.of = n,
		};
	}
	return 0;
}

static bool same_name(const struct entry *a, const struct entry *b)
{
	return a->module == b->module && a->name == b->name;
}

/* False: there are no namesakes. */
static bool find_twice(const struct entries *all)
{
	bool some = false;
	struct entry *v = all->v;
	qsort(v, all->n, sizeof(*v), by_name);
	for (size_t from = 0, to; from < all->n; from = to) {
		bool twice = false;
		for (to = from + 1; to < all->n && same_name(&v[from], &v[to]); to++)
			twice |= v[to].layout == v[to - 1].layout;
		for (size_t i = from; i < to; i++)
			v[i].twice = twice;
		some |= twice;
	}
	return some;
}

/* The functions of a module in one layout. */
struct group {
	struct entry *v;
	size_t n;
};

/* How far most functions that both have moved; false: they did not move together. */
static bool shift_of(const struct group *a, const struct group *b, uint64_t *ret)
{
	uint64_t shift[MOST_SHIFTS];
	size_t n = 0, i = 0, k = 0, votes = 0;
	while (i < a->n && k < b->n && i + k < MOST_STEPS && n < MOST_SHIFTS) {
		int c = compare(a->v[i].name, b->v[k].name);
		if (!c && !a->v[i].twice)
			shift[n++] = b->v[k].at - a->v[i].at;
		i += c <= 0;
		k += c >= 0;
	}
	for (i = 0; i < n && votes * 2 <= n; i++) {
		*ret = shift[i];
		votes = 0;
		for (k = 0; k < n; k++)
			votes += shift[k] == *ret;
	}
	return votes * 2 > n;
}

/* Of the layouts of a module, in their order, find those with the same build. */
static bool find_builds_of(struct entry *v, size_t n, uint32_t *next)
{
	struct {
		struct group *v;
		size_t n, cap;
	} first = { 0 }; /* layout of each build */
	bool ok = true;
	for (size_t from = 0, to; ok && from < n; from = to) {
		for (to = from + 1; to < n && v[to].layout == v[from].layout;)
			to++;
		struct group g = { v + from, to - from }, *slot;
		uint64_t shift = 0;
		size_t k = 0;
		while (k < first.n && !shift_of(&first.v[k], &g, &shift))
			k++;
		for (size_t i = from; i < to; i++) {
			v[i].build = *next + (uint32_t)k;
			v[i].at -= k < first.n ? shift : 0;
		}
		slot = k == first.n ? us_vec_push(&first) : NULL;
		if (slot)
			*slot = g;
		ok = slot || k < first.n;
	}
	*next += (uint32_t)first.n;
	free(first.v);
	return ok;
}

static bool find_builds(const struct entries *all)
{
	uint32_t next = 0;
	struct entry *v = all->v;
	qsort(v, all->n, sizeof(*v), by_layout);
	for (size_t from = 0, to; from < all->n; from = to) {
		for (to = from + 1; to < all->n && v[to].module == v[from].module;)
			to++;
		if (!find_builds_of(v + from, to - from, &next))
			return false;
	}
	return true;
}

static void number(const struct entries *all)
{
	struct entry *v = all->v;
	uint32_t now = 0;
	qsort(v, all->n, sizeof(*v), by_place);
	for (size_t i = 0; i < all->n; i++) {
		if (!i || !same_name(&v[i], &v[i - 1]) || v[i].build != v[i - 1].build)
			now = 0;
		else
			now += v[i].at != v[i - 1].at;
		v[i].of->namesake = v[i].twice ? now : 0;
	}
}

void us_guest_builds_number(struct us_guest_names *v, size_t n)
{
	size_t n_name = 0;
	bool ok;
	for (size_t i = 0; i < n; i++)
		n_name += v[i].n;
	_cleanup_free_ struct entry *entry = calloc(n_name + 1, sizeof(*entry));
	struct entries all = { entry, 0 };
	ok = entry != NULL;
	for (size_t i = 0; ok && i < n; i++)
		ok = collect(&v[i], (uint32_t)i, &all) == 0;
	if (ok && all.n) {
		ok = !find_twice(&all) || find_builds(&all);
		if (ok)
			number(&all);
	}
	/* Without memory none is taken for another. */
	for (size_t i = 0; !ok && i < n; i++)
		for (size_t k = 0; k < v[i].n; k++)
			v[i].v[k].namesake = (uint32_t)--n_name;
}
