/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guest_names.c: see guest_names.h. */
#include "profile/guest_names.h"

#include "base/search.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MODULES 4096 /* each is looked for in turn: a recording may be hostile */

void us_guest_names_fini(struct us_guest_names *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->v[i].name);
	for (size_t i = 0; i < g->modules.n; i++)
		free(g->modules.v[i]);
	for (size_t i = 0; i < g->old.n; i++)
		free(g->old.v[i]);
	free(g->v);
	free(g->modules.v);
	free(g->old.v);
}

/* The module's number; mostly the same as in the last call. */
static int module_of(struct us_guest_names *g, const char *name, size_t *ret)
{
	for (size_t i = g->modules.n; i-- > 0;) {
		*ret = i;
		if (!strcmp(g->modules.v[i], name))
			return 0;
	}
	if (g->modules.n == MAX_MODULES)
		return -E2BIG;
	char **slot = us_vec_push(&g->modules);
	if (!slot)
		return -ENOMEM;
	*ret = g->modules.n - 1;
	*slot = strdup(name);
	if (*slot)
		return 0;
	g->modules.n--;
	return -ENOMEM;
}

int us_guest_names_add(struct us_guest_names *g, const struct us_named *n)
{
	size_t module;
	int r = module_of(g, n->module, &module);
	if (r)
		return r;
	struct us_guest_name *slot = us_vec_push(g);
	if (!slot)
		return -ENOMEM;
	*slot = (struct us_guest_name){ n->start, n->size,     strdup(n->name),
					module,	  g->number++, 0 };
	if (slot->name)
		return 0;
	g->n--;
	return -ENOMEM;
}

static int by_start(const void *a, const void *b)
{
	const struct us_guest_name *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? 1 : -1;
}

/* If there is no room for the old name, it is never freed. */
static void replace(struct us_guest_names *g, struct us_guest_name *n)
{
	char **slot = us_vec_push(&g->old);
	if (slot)
		*slot = n->name;
}

void us_guest_names_sort(struct us_guest_names *g)
{
	size_t kept = 0;
	if (g->n)
		qsort(g->v, g->n, sizeof(*g->v), by_start);
	for (size_t i = 0; i < g->n; i++) {
		if (kept && g->v[kept - 1].start == g->v[i].start)
			replace(g, &g->v[i]);
		else
			g->v[kept++] = g->v[i];
	}
	g->n = kept;
}

bool us_guest_names_find(void *ctx, us_gva pc, struct us_symbol_name *ret)
{
	const struct us_guest_names *g = ctx;
	size_t next = us_first_not(g->n, mid, g->v[mid].start <= pc);
	if (!next || pc - g->v[next - 1].start >= g->v[next - 1].size)
		return false;
	const struct us_guest_name *n = &g->v[next - 1];
	*ret = (struct us_symbol_name){ n->start, n->name, g->modules.v[n->module],
					n->namesake };
	return true;
}
