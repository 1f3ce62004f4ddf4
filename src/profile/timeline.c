/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/timeline.c: see timeline.h. */
#include "profile/timeline.h"

#include "base/clock.h"
#include "profile/profile_priv.h"
#include "store/varint.h"

#include <errno.h>
#include <stdlib.h>

#define MOST_BYTES (4 * US_VARINT_MAX) /* of a sample */

/* Of a sample: what it has beyond the usual is in its key's lowest bit. */
#define HAS_WEIGHT 1U

static bool has_room(struct us_timeline_lane *m)
{
	if (m->cap - m->n >= MOST_BYTES)
		return true;
	size_t cap = m->cap + m->cap / 2 + 4096;
	uint8_t *v = realloc(m->v, cap);
	if (!v)
		return false;
	m->v = v;
	m->cap = cap;
	return true;
}

/* Idle and off have no key: they are numbered below those that have. */
int us_profile_add_to_timeline(struct us_profile *p, const struct us_sample *s,
			       uint32_t key)
{
	uint32_t lane = us_profile_lane(p, s->vcpu);
	if (lane == US_PROFILE_NONE)
		return -ENOMEM;
	struct us_timeline_lane *m = &p->timeline[lane];
	if (p->opts.timeline_most && p->n_moment == p->opts.timeline_most) {
		us_profile_free_timeline(p);
		p->timeline = NULL;
		p->opts.timeline = false;
		return 0;
	}
	if (p->n_moment == US_TIMELINE_MOST)
		return -EOVERFLOW;
	if (!has_room(m))
		return -ENOMEM;
	uint64_t t_us = s->t_ns / US_NS_PER_US;
	uint64_t number = key == US_STRETCH_IDLE  ? 0
			  : key == US_STRETCH_OFF ? 1
						  : key + 2ULL;
	uint8_t *at = us_varint_put(m->v + m->n, us_zigzag((int64_t)(t_us - m->t_us)));
	at = us_varint_put(at, number << 1 | (s->weight != 1 ? HAS_WEIGHT : 0));
	if (s->weight != 1)
		at = us_varint_put(at, s->weight);
	m->n = (size_t)(at - m->v);
	m->t_us = t_us;
	m->count++;
	p->n_moment++;
	return 0;
}

void us_profile_free_timeline(struct us_profile *p)
{
	for (size_t i = 0; p->timeline && i < US_MAX_LANES; i++)
		free(p->timeline[i].v);
	free(p->timeline);
}

uint64_t us_timeline_count(const struct us_profile *p, size_t lane)
{
	return p->timeline && lane < p->lanes.n ? p->timeline[lane].count : 0;
}

struct us_timeline_cursor us_timeline_of(const struct us_profile *p, size_t lane)
{
	struct us_timeline_cursor c = { .p = p };
	if (!us_timeline_count(p, lane))
		return c;
	c.at = p->timeline[lane].v;
	c.end = c.at + p->timeline[lane].n;
	return c;
}

static uint64_t exit_of(const struct us_profile *p, uint32_t stack)
{
	const struct us_trie_node *v = p->trie.nodes.v;
	for (; stack; stack = v[stack].parent)
		if (v[stack].flags & US_PC_EXIT)
			return v[stack].pc;
	return 0;
}

static void of_key(const struct us_profile *p, uint32_t key,
		   struct us_timeline_sample *ret)
{
	static const uint8_t state[US_N_KIND] = { [US_KIND_GUEST] = US_VCPU_GUEST,
						  [US_KIND_EXIT] = US_VCPU_EXIT,
						  [US_KIND_READY] = US_VCPU_READY };
	ret->key = key;
	ret->state = state[key % US_N_KIND];
	/* Those that were told to be idle are in no slice any more. */
	if (p->sum.idle_told && (key >= p->running.n_open || !p->keys.weight[key])) {
		ret->state = US_VCPU_HALTED;
		return;
	}
	if (p->key_node[key] != US_PROFILE_NONE)
		ret->node = p->key_node[key];
	if (ret->state == US_VCPU_EXIT)
		ret->exit = exit_of(p, key / US_N_KIND);
}

static void fill(struct us_timeline_cursor *c)
{
	const size_t most = sizeof(c->queue) / sizeof(*c->queue);
	for (c->n_queue = c->next = 0; c->n_queue < most && c->at != c->end;) {
		uint64_t delta, number, weight = 1;
		c->at = us_varint_get(c->at, c->end, &delta);
		c->at = us_varint_get(c->at, c->end, &number);
		if (number & HAS_WEIGHT)
			c->at = us_varint_get(c->at, c->end, &weight);
		c->t_us += (uint64_t)us_unzigzag(delta);
		number >>= 1;
		if (number >= 2)
			__builtin_prefetch(&c->p->key_node[number - 2]);
		c->queue[c->n_queue].t_us = c->t_us;
		c->queue[c->n_queue].number = (uint32_t)number;
		c->queue[c->n_queue++].weight = (uint32_t)weight;
	}
}

bool us_timeline_next(struct us_timeline_cursor *c, struct us_timeline_sample *ret)
{
	if (c->next == c->n_queue)
		fill(c);
	if (c->next == c->n_queue)
		return false;
	uint32_t number = c->queue[c->next].number;
	*ret = (struct us_timeline_sample){ .t_ns = c->queue[c->next].t_us *
						    US_NS_PER_US,
					    .weight = c->queue[c->next].weight,
					    .key = US_PROFILE_NONE };
	c->next++;
	if (ret->t_ns < c->last_ns)
		ret->t_ns = c->last_ns; /* those whose stack came late */
	c->last_ns = ret->t_ns;
	if (number < 2)
		ret->state = number ? US_VCPU_OFF : US_VCPU_HALTED;
	else
		of_key(c->p, number - 2, ret);
	return true;
}
