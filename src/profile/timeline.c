/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/timeline.c: see timeline.h. */
#include "profile/timeline.h"

#include "base/clock.h"
#include "profile/profile_priv.h"
#include "store/varint.h"

#include <errno.h>
#include <stdlib.h>

/* rest of an entry: the weight in the low bits, the time in the high ones.  If either
 * is too large, they are in the next two entries. */
#define WEIGHT_BITS 8
#define ELSEWHERE   ((1U << WEIGHT_BITS) - 1)
#define TIME_BITS   (32 - WEIGHT_BITS)
#define MOST	    3  /* entries of a sample */
#define AHEAD	    24 /* entries; their keys' nodes are anywhere in memory */

static bool has_room(struct us_timeline_lane *m)
{
	if (m->cap - m->n >= MOST)
		return true;
	size_t cap = m->cap + m->cap / 2 + 512;
	struct us_timeline_entry *v = realloc(m->v, cap * sizeof(*v));
	if (!v)
		return false;
	m->v = v;
	m->cap = cap;
	return true;
}

/* Idle and off have numbers that no key has. */
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
	uint64_t delta = us_zigzag((int64_t)(t_us - m->t_us));
	struct us_timeline_entry *x = &m->v[m->n++];
	*x = (struct us_timeline_entry){ key,
					 (uint32_t)delta << WEIGHT_BITS | s->weight };
	if (s->weight >= ELSEWHERE || delta >> TIME_BITS) {
		x[0].rest = ELSEWHERE;
		x[1] = (struct us_timeline_entry){ s->weight, (uint32_t)delta };
		x[2] = (struct us_timeline_entry){ (uint32_t)(delta >> 32), 0 };
		m->n += 2;
	}
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
	/* Samples that were found to be idle by their stack are no longer in any slice.
	 */
	if (p->sum.idle_told && (key >= p->running.n_open || !p->keys.weight[key])) {
		ret->state = US_VCPU_HALTED;
		return;
	}
	if (p->key_node[key] != US_PROFILE_NONE)
		ret->node = p->key_node[key];
	if (ret->state == US_VCPU_EXIT)
		ret->exit = exit_of(p, key / US_N_KIND);
}

bool us_timeline_next(struct us_timeline_cursor *c, struct us_timeline_sample *ret)
{
	if (c->at == c->end)
		return false;
	const struct us_timeline_entry *x = c->at++;
	if (c->end - x > AHEAD && x[AHEAD].key < c->p->n_key)
		__builtin_prefetch(&c->p->key_node[x[AHEAD].key]);
	uint32_t weight = x->rest & ELSEWHERE;
	uint64_t delta = x->rest >> WEIGHT_BITS;
	if (weight == ELSEWHERE) {
		weight = x[1].key;
		delta = x[1].rest | (uint64_t)x[2].key << 32;
		c->at += 2;
	}
	c->t_us += (uint64_t)us_unzigzag(delta);
	*ret = (struct us_timeline_sample){ .t_ns = c->t_us * US_NS_PER_US,
					    .weight = weight,
					    .key = US_PROFILE_NONE };
	if (ret->t_ns < c->last_ns)
		ret->t_ns = c->last_ns; /* a sample whose stack came late */
	c->last_ns = ret->t_ns;
	if (x->key == US_STRETCH_IDLE || x->key == US_STRETCH_OFF)
		ret->state = x->key == US_STRETCH_OFF ? US_VCPU_OFF : US_VCPU_HALTED;
	else
		of_key(c->p, x->key, ret);
	return true;
}
