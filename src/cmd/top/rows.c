/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/rows.c: see cmd/top/rows.h. */
#include "cmd/top/rows.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/branches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_BRANCH 0.005 /* of the function's total: smaller ones are not shown */
#define MOST_DEPTH   12

void us_top_rows_fini(struct us_top_rows *r)
{
	free(r->v);
	us_profile_groups_fini(&r->groups);
	*r = (struct us_top_rows){ 0 };
}

static bool matches(const regex_t *re, const struct us_profile_func *f)
{
	return !re || regexec(re, f->name, 0, NULL, 0) == 0 ||
	       regexec(re, f->raw, 0, NULL, 0) == 0;
}

static double share(const struct us_profile *p, uint64_t weight)
{
	uint64_t all = us_profile_summary(p)->running;
	return all ? (double)weight / (double)all : 0;
}

static int add_function(const struct us_profile *p, const struct us_profile_func *f,
			bool by_total, struct us_top_rows *ret)
{
	struct us_top_row *r = us_vec_push(ret);
	if (!r)
		return -ENOMEM;
	*r = (struct us_top_row){ .func = f,
				  .self = share(p, f->self),
				  .total = share(p, f->total),
				  .low = by_total ? f->total_low : f->self_low,
				  .high = by_total ? f->total_high : f->self_high,
				  .weight = by_total ? f->total : f->self };
	return 0;
}

int us_top_functions(const struct us_profile *p, enum us_sort sort, const regex_t *only,
		     struct us_top_rows *ret)
{
	const struct us_report_opts o = { .sort = sort };
	_cleanup_free_ uint32_t *row = NULL;
	size_t n = 0, n_func;
	const struct us_profile_func *f = us_profile_funcs(p, &n_func);
	int rc = us_report_rows(p, &o, &row, &n);
	for (size_t i = 0; i < n && !rc; i++)
		if (matches(only, &f[row[i]]))
			rc = add_function(p, &f[row[i]], us_report_by_total(&o), ret);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	const struct us_profile_group *x = a, *y = b;
	return strcmp(x->name, y->name);
}

static int add_group(const struct us_profile *p, const struct us_profile_group *g,
		     struct us_top_rows *ret)
{
	struct us_top_row *r = us_vec_push(ret);
	if (!r)
		return -ENOMEM;
	*r = (struct us_top_row){ .group = g,
				  .self = share(p, g->weight),
				  .total = -1,
				  .low = g->low,
				  .high = g->high,
				  .weight = g->weight };
	return 0;
}

int us_top_groups(const struct us_profile *p, enum us_profile_by by, enum us_sort sort,
		  const regex_t *only, struct us_top_rows *ret)
{
	struct us_profile_groups *all = &ret->groups;
	int rc = us_profile_groups(p, by, all);
	if (!rc && all->n && sort == US_SORT_NAME)
		qsort(all->v, all->n, sizeof(*all->v), by_name);
	for (size_t i = 0; i < all->n && !rc; i++)
		if (!only || regexec(only, all->v[i].name, 0, NULL, 0) == 0)
			rc = add_group(p, &all->v[i], ret);
	return rc;
}

static int add_line(struct us_top_rows *ret, const char *text)
{
	struct us_top_row *r = us_vec_push(ret);
	if (!r)
		return -ENOMEM;
	*r = (struct us_top_row){ .text = text, .self = -1, .total = -1, .low = 1 };
	return 0;
}

static int add_branch(const struct us_profile *p, const struct us_branch *b,
		      unsigned depth, struct us_top_rows *ret)
{
	size_t n;
	struct us_top_row *r = us_vec_push(ret);
	if (!r)
		return -ENOMEM;
	*r = (struct us_top_row){ .func = &us_profile_funcs(p, &n)[b->func],
				  .indent = 2 * depth,
				  .self = -1,
				  .total = share(p, b->total),
				  .low = 1,
				  .weight = b->total };
	return 0;
}

/* Add what is below at, depth first, without small ones. */
static int add_branches(const struct us_profile *p, const struct us_branches *b,
			uint32_t at, unsigned depth, uint64_t least,
			struct us_top_rows *ret)
{
	int rc = 0;
	for (uint32_t c = b->v[at].child; c && !rc; c = b->v[c].next) {
		if (b->v[c].total < least)
			continue;
		rc = add_branch(p, &b->v[c], depth, ret);
		if (!rc && depth < MOST_DEPTH)
			rc = add_branches(p, b, c, depth + 1, least, ret);
	}
	return rc;
}

/* The function's own node, if it is the only one below the root of its branches;
 * otherwise 0, the root. */
static uint32_t below(const struct us_branches *b, uint32_t func)
{
	uint32_t first = b->n ? b->v[0].child : 0;
	return first && b->v[first].func == func && !b->v[first].next ? first : 0;
}

static int add_around(const struct us_profile *p, uint32_t func,
		      struct us_top_rows *ret)
{
	struct us_branches up = { 0 }, down = { 0 };
	size_t n;
	const struct us_profile_func *f = &us_profile_funcs(p, &n)[func];
	uint64_t least = (uint64_t)((double)f->total * LEAST_BRANCH) + 1;
	int rc = us_profile_callers(p, func, &up);
	if (!rc)
		rc = us_profile_callees(p, func, &down);
	if (!rc)
		rc = add_line(ret, "called by:");
	if (!rc)
		rc = add_branches(p, &up, below(&up, func), 1, least, ret);
	if (!rc)
		rc = add_line(ret, "function:");
	if (!rc)
		rc = add_function(p, f, true, ret);
	if (!rc)
		rc = add_line(ret, "calls:");
	if (!rc)
		rc = add_branches(p, &down, below(&down, func), 1, least, ret);
	us_branches_fini(&up);
	us_branches_fini(&down);
	return rc;
}

int us_top_around(const struct us_profile *p, const char *name, struct us_top_rows *ret)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++)
		if (f[i].total && !strcmp(f[i].name, name))
			return add_around(p, (uint32_t)i, ret);
	return 0;
}

int us_top_stack(const struct us_profile *p, struct us_top_rows *ret)
{
	size_t n, n_func;
	const struct us_profile_node *v = us_profile_nodes(p, &n);
	const struct us_profile_func *f = us_profile_funcs(p, &n_func);
	for (size_t i = n; i-- > 1;) {
		struct us_top_row *r = us_vec_push(ret);
		if (!r)
			return -ENOMEM;
		*r = (struct us_top_row){
			.func = &f[v[i].func], .self = -1, .total = -1, .low = 1
		};
	}
	return 0;
}
