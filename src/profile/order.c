/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/order.c: the call tree depth first, and the rows of source lines. */
#include "profile/profile_priv.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

/* Scratch of one ordering; all arrays have a place for each old node.  The nodes are
 * ordered where they are: of a recording of many stacks they are the largest part. */
struct order {
	struct us_profile *p;
	size_t n;
	uint32_t *first, *next; /* children of an old node */
	uint32_t *todo;		/* old nodes; the top is visited next */
	uint32_t *name;		/* new number of an old node; US_PROFILE_NONE: none */
	size_t n_todo;
};

static void order_fini(struct order *o)
{
	free(o->first);
	free(o->next);
	free(o->todo);
	free(o->name);
}

static bool order_init(struct order *o, struct us_profile *p)
{
	size_t n = p->nodes.n;
	o->p = p;
	o->first = calloc(n, sizeof(*o->first));
	o->next = calloc(n, sizeof(*o->next));
	o->todo = calloc(n, sizeof(*o->todo));
	o->name = malloc(n * sizeof(*o->name));
	if (!o->first || !o->next || !o->todo || !o->name)
		return false;
	memset(o->name, 0xff, n * sizeof(*o->name));
	for (size_t i = n; i-- > 1;) {
		struct us_profile_node *v = &p->nodes.v[i];
		if (!v->total)
			continue;
		o->next[i] = o->first[v->parent];
		o->first[v->parent] = (uint32_t)i;
	}
	return true;
}

/* Lightest first, so that the heaviest ends on top of the stack; phases in reverse
 * order of time. */
static int compare_nodes(const void *a, const void *b, void *ctx)
{
	const struct us_profile *p = ctx;
	const struct us_profile_node *x = &p->nodes.v[*(const uint32_t *)a];
	const struct us_profile_node *y = &p->nodes.v[*(const uint32_t *)b];
	if (p->n_phase && !x->parent && !y->parent) {
		unsigned first = us_profile_phase_of(p, x->func);
		unsigned second = us_profile_phase_of(p, y->func);
		if (first != second)
			return first > second ? -1 : 1;
	}
	if (x->total != y->total)
		return x->total < y->total ? -1 : 1;
	int by_name = strcmp(p->funcs.v[y->func].name, p->funcs.v[x->func].name);
	return by_name ? by_name : x->func < y->func ? 1 : -1;
}

static void visit(struct order *o, uint32_t old)
{
	o->name[old] = (uint32_t)o->n++;
	size_t base = o->n_todo;
	for (uint32_t c = o->first[old]; c; c = o->next[c])
		o->todo[o->n_todo++] = c;
	if (o->n_todo - base > 1) /* most have one */
		qsort_r(o->todo + base, o->n_todo - base, sizeof(*o->todo),
			compare_nodes, o->p);
}

/* All that refers to nodes by their old number. */
static void rename_nodes(struct order *o)
{
	struct us_profile *p = o->p;
	for (size_t i = 0; i < p->n_key; i++)
		if (p->key_node[i] != US_PROFILE_NONE)
			p->key_node[i] = o->name[p->key_node[i]];
	for (size_t i = 1; i < p->nodes.n; i++)
		p->nodes.v[i].parent = o->name[p->nodes.v[i].parent];
}

/* Each exchange brings one node to its place.  Those without samples are in no list of
 * children, and end behind all others. */
static void move_nodes(struct order *o)
{
	struct us_profile_node *v = o->p->nodes.v;
	uint32_t behind = (uint32_t)o->n;
	for (size_t i = 0; i < o->p->nodes.n; i++)
		if (o->name[i] == US_PROFILE_NONE)
			o->name[i] = behind++;
	for (uint32_t i = 0; i < o->p->nodes.n; i++)
		while (o->name[i] != i) {
			uint32_t to = o->name[i];
			struct us_profile_node node = v[to];
			v[to] = v[i];
			v[i] = node;
			o->name[i] = o->name[to];
			o->name[to] = to;
		}
	o->p->nodes.n = o->n;
}

static void link_children(struct us_profile *p)
{
	struct us_profile_node *v = p->nodes.v;
	for (uint32_t i = 0; i < p->nodes.n; i++)
		v[i].child = v[i].next = 0;
	for (uint32_t i = (uint32_t)p->nodes.n; i-- > 1;) {
		v[i].next = v[v[i].parent].child;
		v[v[i].parent].child = i;
	}
}

int us_profile_order_tree(struct us_profile *p)
{
	struct order o = { 0 };
	if (!order_init(&o, p)) {
		order_fini(&o);
		return -ENOMEM;
	}
	visit(&o, 0);
	while (o.n_todo)
		visit(&o, o.todo[--o.n_todo]);
	rename_nodes(&o);
	move_nodes(&o);
	link_children(p);
	order_fini(&o);
	us_profile_find_phases(p);
	return 0;
}

static struct us_profile_line *line_at(struct us_profile *p, struct us_pair_map *rows,
				       uint32_t stack, uint32_t *ret_func)
{
	us_gva pc = p->trie.nodes.v[stack].pc;
	const struct us_profile_site *site = us_profile_site(p, stack, p->opts.waits);
	if (!site || !site->n)
		return NULL;
	const struct us_profile_frame *f = &p->frames.v[site->first];
	const struct us_profile_func *func = &p->funcs.v[f->func];
	uint32_t *row = f->line ? us_pair_map_at(rows, f->func, f->line)
				: us_pair_map_at(rows, pc, UINT64_MAX);
	if (!row)
		return NULL;
	*ret_func = f->func;
	if (*row)
		return &p->lines.v[*row - 1];
	struct us_profile_line *l = us_vec_push(&p->lines);
	if (!l)
		return NULL;
	*l = (struct us_profile_line){ func->known ? func->name : NULL, f->file,
				       f->line, pc, 0 };
	*row = (uint32_t)p->lines.n;
	return l;
}

static int compare_lines(const void *a, const void *b)
{
	const struct us_profile_line *x = a, *y = b;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static int add_lines(struct us_profile *p, struct us_pair_map *rows, uint64_t *hottest)
{
	const struct us_profile_keys *keys = &p->keys;
	for (size_t i = 0; i < keys->n; i++) {
		uint32_t key = keys->v[i];
		uint32_t stack = us_profile_guest_node(p, key / US_N_KIND), func;
		if (!stack || p->key_node[key] == US_PROFILE_NONE ||
		    p->trie.nodes.v[stack].flags & US_PROFILE_NO_FRAME)
			continue;
		us_gva pc = p->trie.nodes.v[stack].pc;
		struct us_profile_line *l = line_at(p, rows, stack, &func);
		if (!l)
			return -ENOMEM;
		l->self += keys->weight[key];
		if (pc < l->pc)
			l->pc = pc;
		if (hottest[func] < l->self && l->line) {
			hottest[func] = l->self;
			hottest[p->funcs.n + func] = l->line;
		}
	}
	return 0;
}

int us_profile_count_lines(struct us_profile *p, struct us_err *e)
{
	struct us_pair_map rows = { 0 };
	size_t n = p->funcs.n;
	_cleanup_free_ uint64_t *hottest = calloc(2 * n + 1, sizeof(*hottest));
	int rc = hottest ? add_lines(p, &rows, hottest) : -ENOMEM;
	us_pair_map_fini(&rows);
	if (rc)
		return us_fail(e, rc, "report: out of memory");
	for (size_t f = 0; f < n; f++)
		if (!p->funcs.v[f].line)
			p->funcs.v[f].line = (uint32_t)hottest[n + f];
	if (p->lines.n)
		qsort(p->lines.v, p->lines.n, sizeof(*p->lines.v), compare_lines);
	return 0;
}
