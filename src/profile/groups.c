/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/groups.c: see groups.h. */
#include "profile/groups.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/interval.h"
#include "profile/profile_priv.h"
#include "profile/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct builder {
	const struct us_profile *p;
	enum us_profile_by by;
	struct {
		struct us_profile_group *v;
		size_t n, cap;
	} groups;
	struct {
		struct group_func {
			uint32_t group, func, last; /* last: its last stack + 1 */
			uint64_t self, total;
		} * v;
		size_t n, cap;
	} rows;
	struct us_pair_map row_of; /* (group, function) to index + 1 */
	struct us_name_set names;  /* of the groups */
};

/* A group has the number of its name. */
static uint32_t group_of(struct builder *b, const char *name)
{
	uint32_t number = us_name_set_at(&b->names, name);
	if (number == US_NAME_NONE)
		return US_PROFILE_NONE;
	if (number < b->groups.n)
		return number;
	struct us_profile_group *g = us_vec_push(&b->groups);
	char *copy = g ? strdup(name) : NULL;
	if (!copy) {
		b->groups.n -= g != NULL;
		return US_PROFILE_NONE;
	}
	g->name = copy;
	return number;
}

/* The group of a lane, or of all lanes if the profile was counted. */
static uint32_t lane_group(struct builder *b, uint16_t lane)
{
	const struct us_profile *p = b->p;
	char name[300];
	if (lane >= p->lanes.n)
		return group_of(b, b->by == US_BY_VCPU ? "all vCPUs" : "all");
	const struct us_profile_recording *r =
		&p->recording[p->lanes.v[lane].recording];
	const char *guest = r->guest ? r->guest : "a guest";
	bool others = false;
	for (size_t i = 0; i < p->n_file; i++) {
		const char *other = p->recording[i].guest;
		others |= strcmp(other ? other : "a guest", guest) != 0;
	}
	if (p->lanes.v[lane].others)
		return group_of(b, b->by == US_BY_VCPU	  ? "other vCPUs"
				   : b->by == US_BY_GUEST ? "other guests"
							  : "other recordings");
	if (b->by == US_BY_GUEST)
		return group_of(b, guest);
	if (b->by == US_BY_RECORDING)
		return group_of(b, r->name);
	snprintf(name, sizeof(name), "%.200s%svCPU %u", others ? guest : "",
		 others ? " " : "", p->lanes.v[lane].vcpu);
	return group_of(b, name);
}

static uint32_t owner_group(struct builder *b, uint32_t node)
{
	char name[US_OWNER_NAME];
	size_t before = b->groups.n;
	us_profile_owner_name(b->p, node, b->by, name, sizeof(name));
	uint32_t number = group_of(b, name);
	bool alone = b->by == US_BY_PROCESS || b->by == US_BY_THREAD;
	if (alone && b->groups.n > before) {
		struct us_profile_group *g = &b->groups.v[number];
		g->has_owner = us_profile_owner_of(b->p, node, &g->owner);
	}
	return number;
}

static uint32_t stack_group(struct builder *b, const struct us_profile_stack *s,
			    uint32_t inner)
{
	if (b->by == US_BY_STATE)
		return group_of(b, us_profile_state_of(b->p, s->state));
	if (us_profile_by_owner(b->by))
		return owner_group(b, s->node);
	if (b->by >= US_BY_IMAGE)
		return group_of(b, us_profile_place_of(&b->p->funcs.v[inner], b->by));
	return lane_group(b, s->lane);
}

static struct group_func *row_of(struct builder *b, uint32_t group, uint32_t func)
{
	uint32_t *have = us_pair_map_at(&b->row_of, group, func);
	if (!have)
		return NULL;
	if (!*have) {
		struct group_func *row = us_vec_push(&b->rows);
		if (!row)
			return NULL;
		*row = (struct group_func){ .group = group, .func = func };
		*have = (uint32_t)b->rows.n;
	}
	return &b->rows.v[*have - 1];
}

/* Count a function that is in the stack several times once. */
static bool add_frame(struct builder *b, uint32_t group, uint32_t func, uint32_t stack,
		      uint64_t weight, bool innermost)
{
	struct group_func *row = row_of(b, group, func);
	if (!row)
		return false;
	if (innermost)
		row->self += weight;
	if (row->last != stack + 1)
		row->total += weight;
	row->last = stack + 1;
	return true;
}

/* Which vCPU the repeats were on is not kept. */
static double repeats_of(const struct us_profile *p, const struct us_profile_stack *s)
{
	if (s->key >= p->repeats.n || !p->keys.weight[s->key])
		return 0;
	return p->repeats.v[s->key] * (double)s->weight /
	       (double)p->keys.weight[s->key];
}

static bool add_stack(struct builder *b, const struct us_profile_stacks *all,
		      uint32_t number)
{
	const struct us_profile_stack *s = &all->stack[number];
	bool innermost = true, by_place = b->by >= US_BY_IMAGE;
	uint32_t group = US_PROFILE_NONE;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct us_profile_place *at =
			&all->place[all->path[s->first + i]];
		for (uint32_t k = 0; k < at->n; k++) {
			uint32_t func = all->frame[at->first + k].func;
			if (innermost || by_place) {
				group = stack_group(b, s, func);
				if (group == US_PROFILE_NONE)
					return false;
			}
			if (innermost) {
				b->groups.v[group].weight += s->weight;
				b->groups.v[group].repeats += repeats_of(b->p, s);
			}
			if (!add_frame(b, group, func, number, s->weight, innermost))
				return false;
			innermost = false;
		}
	}
	return true;
}

/* Lanes that were always idle have no stacks, but a group. */
static bool add_lanes(struct builder *b)
{
	const struct us_profile *p = b->p;
	if (b->by > US_BY_VCPU)
		return true;
	for (size_t i = 0; i < p->lanes.n; i++) {
		uint32_t group = lane_group(b, (uint16_t)i);
		if (group == US_PROFILE_NONE)
			return false;
		b->groups.v[group].idle += p->lanes.v[i].idle;
		b->groups.v[group].has_idle = true;
	}
	return true;
}

static bool share_rows(struct builder *b)
{
	for (size_t i = 0; i < b->rows.n; i++)
		b->groups.v[b->rows.v[i].group].n++;
	for (size_t i = 0; i < b->groups.n; i++) {
		struct us_profile_group *g = &b->groups.v[i];
		g->row = calloc(g->n + 1, sizeof(*g->row));
		g->n = 0;
		if (!g->row)
			return false;
	}
	for (size_t i = 0; i < b->rows.n; i++) {
		const struct group_func *r = &b->rows.v[i];
		struct us_profile_group *g = &b->groups.v[r->group];
		g->row[g->n++] = (struct us_profile_group_row){ r->func, r->self,
								r->total };
	}
	return true;
}

static int compare_u64(uint64_t a, uint64_t b) /* more first */
{
	return a > b ? -1 : a < b;
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct us_profile *p = ctx;
	const struct us_profile_group_row *x = a, *y = b;
	int c = compare_u64(x->self, y->self);
	c = c ? c : compare_u64(x->total, y->total);
	c = c ? c : strcmp(p->funcs.v[x->func].name, p->funcs.v[y->func].name);
	return c ? c : x->func < y->func ? -1 : x->func > y->func;
}

static int compare_groups(const void *a, const void *b)
{
	const struct us_profile_group *x = a, *y = b;
	int c = compare_u64(x->weight, y->weight);
	c = c ? c : compare_u64(x->idle, y->idle);
	return c ? c : strcmp(x->name, y->name);
}

static void order(struct builder *b)
{
	double all = (double)b->p->sum.running;
	const struct us_profile_waits *w = us_profile_waits(b->p);
	double repeats = 0;
	bool counted = us_profile_is_counted(b->p);
	for (size_t i = 0; i < b->groups.n; i++)
		repeats += b->groups.v[i].repeats;
	for (size_t i = 0; i < b->groups.n; i++) {
		struct us_profile_group *g = &b->groups.v[i];
		double share = all > 0 ? (double)g->weight / all : 0;
		/* Tasks of a look are not independent: as in profile/stats.c. */
		double n = w->shown ? (double)w->shown_looks
				    : us_interval_independent(share, all, g->repeats,
							      repeats);
		struct us_interval in = us_interval_wilson(share, n);
		g->low = counted ? share : in.low;
		g->high = counted ? share : in.high;
		qsort_r(g->row, g->n, sizeof(*g->row), compare_rows, (void *)b->p);
	}
	if (b->groups.n)
		qsort(b->groups.v, b->groups.n, sizeof(*b->groups.v), compare_groups);
}

int us_profile_groups(const struct us_profile *p, enum us_profile_by by,
		      struct us_profile_groups *ret)
{
	struct builder b = { .p = p, .by = by };
	struct us_profile_stacks all;
	*ret = (struct us_profile_groups){ 0 };
	if (us_profile_stacks(p, &all))
		return -ENOMEM;
	bool ok = add_lanes(&b);
	for (size_t i = 0; i < all.n_stack && ok; i++)
		ok = add_stack(&b, &all, (uint32_t)i);
	ok = ok && share_rows(&b);
	if (ok)
		order(&b);
	us_profile_stacks_fini(&all);
	us_pair_map_fini(&b.row_of);
	us_name_set_fini(&b.names);
	free(b.rows.v);
	ret->v = b.groups.v;
	ret->n = b.groups.n;
	if (!ok)
		us_profile_groups_fini(ret);
	return ok ? 0 : -ENOMEM;
}

void us_profile_groups_fini(struct us_profile_groups *g)
{
	for (size_t i = 0; i < g->n; i++) {
		free(g->v[i].name);
		free(g->v[i].row);
	}
	free(g->v);
	*g = (struct us_profile_groups){ 0 };
}
