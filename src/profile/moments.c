/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/moments.c: see moments.h. */
#include "profile/moments.h"

#include "base/vec.h"
#include "profile/profile_priv.h"

#include <errno.h>
#include <stdlib.h>

void us_moments_init(struct us_moments *m)
{
	*m = (struct us_moments){ .every = 1 };
}

void us_moments_fini(struct us_moments *m)
{
	free(m->v);
	*m = (struct us_moments){ 0 };
}

/* The unit that is taken from a block of every units, by the block's number. */
static uint64_t unit_of(uint64_t block, uint64_t every)
{
	uint64_t h = (block ^ every << 32) + 0x9e3779b97f4a7c15;
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9;
	h = (h ^ h >> 27) * 0x94d049bb133111eb;
	return block * every + (h ^ h >> 31) % every;
}

/* How many units in from..to are taken. */
static uint64_t taken(uint64_t from, uint64_t to, uint64_t every)
{
	if (from == to)
		return 0;
	uint64_t first = from / every, last = (to - 1) / every;
	uint64_t n = last - first + 1;
	n -= unit_of(first, every) < from;
	n -= unit_of(last, every) >= to;
	return n;
}

/* The first unit that is taken, at or after from. */
static uint64_t next_unit(uint64_t from, uint64_t every)
{
	uint64_t unit = unit_of(from / every, every);
	return unit < from ? unit_of(from / every + 1, every) : unit;
}

static void drop_half(struct us_moments *m)
{
	uint64_t at = 0;
	size_t to = 0;
	for (size_t i = 0; i < m->n; i++) {
		struct us_moment x = m->v[i];
		uint64_t end = at + x.weight;
		x.weight = (uint32_t)taken(at, end, 2);
		at = end;
		if (x.weight)
			m->v[to++] = x;
	}
	m->n = to;
	m->every *= 2;
}

int us_moments_add(struct us_moments *m, const struct us_moment *x)
{
	uint64_t from = m->seen;
	m->seen += x->weight;
	uint64_t n = taken(from, m->seen, m->every);
	while (n && m->n >= US_MOMENTS_MAX) {
		drop_half(m);
		n = taken(from, m->seen, m->every);
	}
	m->next = next_unit(m->seen, m->every);
	if (!n)
		return 0;
	struct us_moment *slot = us_vec_push(m);
	if (!slot)
		return -ENOMEM;
	*slot = *x;
	slot->weight = (uint32_t)n;
	return 0;
}

static int by_lane(const void *a, const void *b)
{
	const struct us_profile_moment *x = a, *y = b;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* False: the sample is not in the tree. */
static bool tell(const struct us_profile *p, const struct us_moment *m,
		 struct us_profile_moment *ret)
{
	static const uint8_t state[US_N_KIND] = {
		[US_KIND_GUEST] = US_VCPU_GUEST,
		[US_KIND_EXIT] = US_VCPU_EXIT,
		[US_KIND_READY] = US_VCPU_READY,
	};
	*ret = (struct us_profile_moment){ .t_ns = m->t_ns,
					   .weight = m->weight,
					   .lane = m->lane };
	if (m->key >= US_MOMENT_OFF) {
		ret->state = m->key == US_MOMENT_OFF ? US_VCPU_OFF : US_VCPU_HALTED;
		return true;
	}
	ret->state = state[m->key % US_N_KIND];
	ret->node = m->key < p->n_key ? p->key_node[m->key] : US_PROFILE_NONE;
	return ret->node != US_PROFILE_NONE;
}

int us_profile_moments(const struct us_profile *p, struct us_profile_moment **ret,
		       size_t *ret_n, uint64_t *ret_every)
{
	const struct us_moments *m = &p->moments;
	struct us_profile_moment *v = calloc(m->n + 1, sizeof(*v));
	size_t n = 0;
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++)
		n += tell(p, &m->v[i], &v[n]);
	qsort(v, n, sizeof(*v), by_lane);
	*ret = v;
	*ret_n = n;
	*ret_every = m->every;
	return 0;
}
