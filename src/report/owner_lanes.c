/* SPDX-License-Identifier: GPL-2.0-or-later */
/* owner_lanes.c: see owner_lanes.h. */
#include "report/owner_lanes.h"

#include "base/name_set.h"
#include "base/vec.h"
#include "profile/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct builder {
	const struct us_profile *p;
	struct us_name_set names; /* of threads */
	struct us_pair_map of;	  /* (key, 0) to the number of its name + 1 */
	struct {
		struct us_owner_lane *v;
		size_t n, cap;
	} lane; /* by number; without process: not known yet */
};

static bool make_room(struct builder *b, uint32_t number)
{
	while (b->lane.n <= number) {
		const struct us_owner_lane *l = us_vec_push(&b->lane);
		if (!l)
			return false;
	}
	return true;
}

/* The lane of a sample's key; NULL: out of memory. */
static struct us_owner_lane *lane_of(struct builder *b, uint32_t key)
{
	char name[US_OWNER_NAME];
	struct us_profile_owner w;
	uint32_t *known = us_pair_map_at(&b->of, key, 0);
	if (known && *known)
		return &b->lane.v[*known - 1];
	uint32_t stack = us_profile_stack_of(b->p, key);
	us_profile_owner_name(b->p, stack, US_BY_THREAD, name, sizeof(name));
	uint32_t number = us_name_set_at(&b->names, name);
	if (!known || number == US_NAME_NONE || !make_room(b, number))
		return NULL;
	*known = number + 1;
	struct us_owner_lane *l = &b->lane.v[number];
	if (!l->process && us_profile_owner_of(b->p, stack, &w))
		l->tgid = w.tgid;
	if (!l->process)
		l->process = strdup(us_profile_owner_name(b->p, stack, US_BY_PROCESS,
							  name, sizeof(name)));
	return l->process ? l : NULL;
}

/* Call take() for each sample in the tree; false: out of memory. */
static bool each(struct builder *b, bool (*take)(struct us_owner_lane *l,
						 const struct us_timeline_sample *m))
{
	struct us_timeline_sample m;
	size_t n;
	us_profile_lanes(b->p, &n);
	for (size_t i = 0; i < n; i++) {
		struct us_timeline_cursor c = us_timeline_of(b->p, i);
		while (us_timeline_next(&c, &m)) {
			struct us_owner_lane *l = m.node ? lane_of(b, m.key) : NULL;
			if (m.node && (!l || !take(l, &m)))
				return false;
		}
	}
	return true;
}

static bool count(struct us_owner_lane *l, const struct us_timeline_sample *m)
{
	l->weight += m->weight;
	l->n++;
	return true;
}

/* Store the sample in the space that was allocated for wanted lanes. */
static bool keep(struct us_owner_lane *l, const struct us_timeline_sample *m)
{
	if (l->v)
		l->v[l->n++] = (struct us_owner_sample){ m->t_ns, m->node, m->weight };
	return true;
}

static int heaviest_first(const void *a, const void *b)
{
	const struct us_owner_lane *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_time(const void *a, const void *b)
{
	const struct us_owner_sample *x = a, *y = b;
	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

/* The weight of the lightest one that is wanted. */
static bool choose(struct builder *b, size_t most)
{
	uint64_t *weight = calloc(b->lane.n + 1, sizeof(*weight)), least = 0;
	for (size_t i = 0; weight && i < b->lane.n && most; i++) {
		size_t at = i < most ? i : most;
		for (; at && weight[at - 1] < b->lane.v[i].weight; at--)
			if (at < most)
				weight[at] = weight[at - 1];
		if (at < most)
			weight[at] = b->lane.v[i].weight;
	}
	if (!weight)
		return false;
	least = b->lane.n > most && most ? weight[most - 1] : 0;
	free(weight);
	for (size_t i = 0; i < b->lane.n; i++) {
		struct us_owner_lane *l = &b->lane.v[i];
		if (l->weight >= least && most)
			l->v = calloc(l->n ? l->n : 1, sizeof(*l->v));
		if (l->weight >= least && most && !l->v)
			return false;
		l->n = 0;
	}
	return true;
}

static void give(struct builder *b, size_t most, struct us_owner_lanes *ret)
{
	ret->v = b->lane.v;
	ret->n = b->lane.n;
	for (size_t i = 0; i < b->lane.n; i++) {
		b->lane.v[i].name = b->names.v[i];
		b->names.v[i] = NULL;
	}
	if (!b->lane.n)
		return;
	qsort(ret->v, ret->n, sizeof(*ret->v), heaviest_first);
	for (size_t i = 0; i < ret->n; i++) {
		struct us_owner_lane *l = &ret->v[i];
		if (i < most && l->v && l->n)
			qsort(l->v, l->n, sizeof(*l->v), by_time);
	}
	while (ret->n > most || (ret->n && !ret->v[ret->n - 1].v)) {
		struct us_owner_lane *l = &ret->v[--ret->n];
		free(l->name);
		free(l->process);
		free(l->v);
	}
}

int us_owner_lanes(const struct us_profile *p, size_t most, struct us_owner_lanes *ret)
{
	struct builder b = { .p = p };
	*ret = (struct us_owner_lanes){ 0 };
	if (!us_profile_owners_known(p))
		return 0;
	bool ok = each(&b, count) && choose(&b, most) && each(&b, keep);
	give(&b, most, ret);
	us_name_set_fini(&b.names);
	us_pair_map_fini(&b.of);
	if (!ok)
		us_owner_lanes_fini(ret);
	return ok ? 0 : -ENOMEM;
}

void us_owner_lanes_fini(struct us_owner_lanes *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].process);
		free(l->v[i].v);
	}
	free(l->v);
	*l = (struct us_owner_lanes){ 0 };
}
