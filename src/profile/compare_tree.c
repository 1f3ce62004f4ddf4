/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/compare_tree.c: see compare_tree.h. */
#include "profile/compare_tree.h"

#include "base/cleanup.h"
#include "base/pair_map.h"
#include "base/vec.h"
#include "profile/compare_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST	 0.0002 /* of the total of one side; less is narrower than a pixel */
#define LEFT_OUT UINT32_MAX

/* The share of a path in one recording. */
struct share {
	uint32_t node;
	unsigned side, run;
	struct us_value x;
};

struct merger {
	struct us_comparer c;
	struct us_pair_map child; /* (node, the function's number) to node */
	struct {
		struct us_compare_node *v;
		size_t n, cap;
	} nodes;
	struct {
		struct share *v;
		size_t n, cap;
	} shares;
};

/* The totals of a profile's nodes.  Time that waited for a host CPU counts only in
 * shares of the time. */
static uint64_t *totals_of(const struct merger *m, const struct us_profile *p)
{
	size_t n, n_func;
	const struct us_profile_node *v = us_profile_nodes(p, &n);
	const struct us_profile_func *f = us_profile_funcs(p, &n_func);
	uint64_t *total = calloc(n + 1, sizeof(*total));
	bool all = m->c.exact || m->c.o->by == US_COMPARE_TIME;
	for (size_t i = n; total && i-- > 0;) {
		if (all || !i || strcmp(f[v[i].func].name, US_FRAME_READY) != 0)
			total[i] += v[i].self;
		if (i)
			total[v[i].parent] += total[i];
	}
	return total;
}

static struct us_value value_of(const struct merger *m, const struct us_profile *p,
				unsigned side, unsigned run,
				const struct us_profile_node *n, uint64_t total)
{
	const struct us_profile_summary *s = us_profile_summary(p);
	double all = (double)s->running;
	double ran = m->c.o->by == US_COMPARE_TIME ? all : all - (double)s->ready;
	if (m->c.exact && m->c.o->by != US_COMPARE_PER)
		return (struct us_value){ .v = (double)total };
	struct us_value x = us_value_of((double)n->total / all, n->long_low,
					n->long_high);
	double scale = ran > 0 ? all / ran : 0;
	struct us_value share = { (double)total / fmax(ran, 1), scale * x.down,
				  scale * x.up };
	if (m->c.exact)
		share = (struct us_value){ .v = (double)total };
	return us_compare_in_unit(&m->c, p, side, run, share);
}

/* The node of a path, which may be new. */
static uint32_t node_of(struct merger *m, uint32_t parent, uint32_t number,
			const struct us_profile_func *f)
{
	uint32_t *have = us_pair_map_at(&m->child, parent, number);
	if (!have)
		return LEFT_OUT;
	if (!*have) {
		struct us_compare_node *n = us_vec_push(&m->nodes);
		if (!n)
			return LEFT_OUT;
		*n = (struct us_compare_node){ .parent = parent };
		*have = (uint32_t)m->nodes.n - 1;
	}
	m->nodes.v[*have].func = f;
	m->nodes.v[*have].name = m->c.names.v[number];
	return *have;
}

static int add_tree(struct merger *m, unsigned side, unsigned run)
{
	const struct us_profile *p = m->c.side[side]->v[run];
	size_t n, n_func;
	const struct us_profile_node *v = us_profile_nodes(p, &n);
	const struct us_profile_func *f = us_profile_funcs(p, &n_func);
	_cleanup_free_ uint64_t *total = totals_of(m, p);
	_cleanup_free_ uint32_t *to = calloc(n + 1, sizeof(*to));
	if (!total || !to)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!total[i])
			continue;
		if (i)
			to[i] = node_of(m, to[v[i].parent],
					m->c.number[side][run][v[i].func],
					&f[v[i].func]);
		struct share *s = us_vec_push(&m->shares);
		if (to[i] == LEFT_OUT || !s)
			return -ENOMEM;
		*s = (struct share){ to[i], side, run,
				     value_of(m, p, side, run, &v[i], total[i]) };
	}
	return 0;
}

static int by_node(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	return (x->node > y->node) - (x->node < y->node);
}

/* One recording may have a path of names twice. */
static void sum_up(const struct share *v, size_t n,
		   struct us_value ret[2][US_COMPARE_MAX])
{
	memset(ret, 0, 2 * sizeof(*ret));
	for (size_t i = 0; i < n; i++) {
		struct us_value *x = &ret[v[i].side][v[i].run];
		*x = (struct us_value){ x->v + v[i].x.v, hypot(x->down, v[i].x.down),
					hypot(x->up, v[i].x.up) };
	}
}

static int conclude(struct merger *m)
{
	struct us_value x[2][US_COMPARE_MAX];
	size_t n_row = 0, n_changed;
	_cleanup_free_ struct us_compare_row *row = calloc(m->nodes.n, sizeof(*row));
	if (!row)
		return -ENOMEM;
	qsort(m->shares.v, m->shares.n, sizeof(*m->shares.v), by_node);
	for (size_t from = 0, to; from < m->shares.n; from = to) {
		struct us_compare_row *r = &row[n_row++];
		for (to = from + 1; to < m->shares.n; to++)
			if (m->shares.v[to].node != m->shares.v[from].node)
				break;
		r->index = m->shares.v[from].node;
		r->name = r->index ? m->nodes.v[r->index].name : "";
		sum_up(&m->shares.v[from], to - from, x);
		us_compare_conclude(&m->c, x, r);
	}
	us_compare_choose(row, n_row, &n_changed);
	for (size_t i = 0; i < n_row; i++) {
		struct us_compare_node *n = &m->nodes.v[row[i].index];
		n->before = row[i].before;
		n->after = row[i].after;
		n->low = row[i].low;
		n->high = row[i].high;
		n->changed = row[i].changed;
	}
	return 0;
}

/* Callees are never heavier than their callers, so what is kept is a tree. */
static int drop_light(struct merger *m)
{
	struct us_compare_node *v = m->nodes.v;
	_cleanup_free_ uint32_t *now = calloc(m->nodes.n, sizeof(*now));
	size_t to = 1;
	if (!now)
		return -ENOMEM;
	for (size_t i = 1; i < m->nodes.n; i++) {
		bool light = v[i].before < LEAST * v[0].before &&
			     v[i].after < LEAST * v[0].after;
		bool kept = !light && (!v[i].parent || now[v[i].parent]);
		if (!kept)
			continue;
		now[i] = (uint32_t)to;
		v[to] = v[i];
		v[to].parent = now[v[i].parent];
		to++;
	}
	m->nodes.n = to;
	return 0;
}

static int merge(struct merger *m)
{
	struct us_compare_node *root = us_vec_push(&m->nodes);
	int rc = root ? 0 : -ENOMEM;
	if (root)
		*root = (struct us_compare_node){ 0 };
	for (unsigned side = 0; side < 2; side++)
		for (unsigned i = 0; i < m->c.side[side]->n && !rc; i++)
			rc = add_tree(m, side, i);
	if (!rc)
		rc = conclude(m);
	return rc ? rc : drop_light(m);
}

int us_compare_trees(const struct us_compare_side *before,
		     const struct us_compare_side *after,
		     const struct us_compare_opts *o, struct us_compare_tree *ret,
		     struct us_err *e)
{
	struct merger m = { .c = { .o = o, .side = { before, after } } };
	*ret = (struct us_compare_tree){ 0 };
	int rc = us_compare_begin(&m.c, e);
	if (rc)
		return rc;
	rc = merge(&m);
	us_compare_number_fini(&m.c);
	us_pair_map_fini(&m.child);
	free(m.shares.v);
	if (rc) {
		us_compare_names_fini(&m.c.names);
		free(m.nodes.v);
		return us_fail(e, rc, "compare: out of memory");
	}
	*ret = (struct us_compare_tree){ m.nodes.v, m.nodes.n, m.c.names };
	return 0;
}

void us_compare_tree_fini(struct us_compare_tree *t)
{
	free(t->node);
	us_compare_names_fini(&t->names);
	*t = (struct us_compare_tree){ 0 };
}
