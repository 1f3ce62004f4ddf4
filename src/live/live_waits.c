/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live_waits.c: what the tasks of a Linux guest waited for: the most recent part. */
#include "live/live_priv.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_WAITS 1024

int us_live_waiter(struct us_live *l, const struct us_waiter *s)
{
	struct us_waiter copy = *s;
	copy.name = strdup(s->name);
	copy.process_name = strdup(s->process_name);
	bool whole = copy.name && copy.process_name;
	struct us_waiter *to = whole ? us_vec_push(&l->waiters) : NULL;
	if (!to) {
		free((char *)copy.name);
		free((char *)copy.process_name);
		return -ENOMEM;
	}
	*to = copy;
	return 0;
}

static int grow(struct us_live_waits *w)
{
	size_t cap = w->cap ? 2 * w->cap : FIRST_WAITS;
	struct us_wait *v = malloc(cap * sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (uint64_t i = w->first; i < w->n; i++)
		v[i & (cap - 1)] = *us_live_wait_at(w, i);
	free(w->v);
	w->v = v;
	w->cap = cap;
	return 0;
}

static void drop_first(struct us_live_waits *w)
{
	const struct us_wait *s = us_live_wait_at(w, w->first++);
	if (w->dropped_ns < s->t_ns)
		w->dropped_ns = s->t_ns;
}

int us_live_wait(struct us_live *l, const struct us_wait *s)
{
	struct us_live_waits *w = &l->waits;
	while (w->first < w->n &&
	       s->t_ns > us_live_wait_at(w, w->first)->t_ns + l->opts.keep_ns)
		drop_first(w);
	if (w->n - w->first == US_LIVE_SAMPLES)
		drop_first(w);
	if (w->n - w->first == w->cap && grow(w))
		return -ENOMEM;
	w->v[w->n++ & (w->cap - 1)] = *s;
	return 0;
}

void us_live_free_waits(struct us_live *l)
{
	for (size_t i = 0; i < l->waiters.n; i++) {
		free((char *)l->waiters.v[i].name);
		free((char *)l->waiters.v[i].process_name);
	}
	free(l->waiters.v);
	free(l->waits.v);
}

const struct us_wait_stats *us_live_wait_stats(const struct us_live *l)
{
	return &l->waits.stats;
}

bool us_live_waits_known(const struct us_live *l)
{
	return l->waits.n || l->waits.stats.looks;
}
