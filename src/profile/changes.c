/* SPDX-License-Identifier: GPL-2.0-or-later */
/* changes.c: see changes.h. */
#include "profile/changes.h"

#include "backend/backend.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DISTANCES   8192 /* enough for quartiles */
#define FAR	    16	 /* samples whose distance is compared */
#define LEAST_PAIRS 8
/* Of bpf's ticks (backend/bpf/pace.h).  They stand for more or less time, as they are
 * far or near, so what a vCPU does for long is counted by its clock. */
#define TICK_SPREAD 0.02

#define MASKS (1U << US_LAGS)

/* What is known of a vCPU's samples in the stretch at hand, in the first pass. */
struct recent {
	uint64_t t_ns[FAR]; /* by number modulo FAR */
	size_t n_time, stretch;
	unsigned n;
};

/* Where a node, or a function, was last.  Masks: bit k - 1 is the sample k before. */
struct seen {
	uint32_t run, at;
	uint8_t mask; /* in which of those before that */
};

/* Of a sample: which of those before it there are, and what they are. */
struct before {
	uint8_t counted, other, idle; /* other: it does not count */
};

struct counting {
	const struct us_profile *p;
	struct us_changes *c;
	bool ticks; /* only of running vCPUs */
	struct recent *of;
	uint64_t pairs[US_LAGS], samples, counted;
	double weight[MASKS][US_N_LAG_SUM]; /* of pairs with the samples in the mask */
	uint64_t *distance;
	size_t n_distance;
	struct seen *node, *self, *total; /* by node; by function */
	uint32_t run;			  /* samples of a vCPU, in one direction */
	const struct us_stretch_sample **sorted;
};

/* bpf's timers tick while a vCPU runs; what it waits and sleeps is accounted for from
 * time to time, and no sample of that instant. */
static bool only_ticks(const struct us_profile *p)
{
	const char *backend = us_profile_fact(p, "backend");
	return backend && !strcmp(backend, "bpf");
}

/* Node 0, the root, stands for what does not count. */
static uint32_t node_of(const struct us_profile *p, uint32_t key)
{
	if (key >= p->n_key || p->key_node[key] == US_PROFILE_NONE)
		return 0;
	return p->key_node[key];
}

static bool is_skipped(const struct counting *n, uint32_t key)
{
	if (key == US_STRETCH_OFF)
		return true;
	return n->ticks && (key == US_STRETCH_IDLE || key % US_N_KIND == US_KIND_READY);
}

static void add(double sum[US_N_LAG_SUM], const double weight[US_N_LAG_SUM])
{
	for (unsigned i = 0; i < US_N_LAG_SUM; i++)
		sum[i] += weight[i];
}

/* Here it is: in which of the samples before, too?  False: it was told already that it
 * is in this one. */
static bool is_first(struct seen *s, uint32_t run, uint32_t at, uint8_t *ret)
{
	uint32_t back = at - s->at;
	if (s->run != run || back > US_LAGS)
		*ret = 0;
	else if (!back)
		return false;
	else
		*ret = (uint8_t)((s->mask << 1 | 1U) << (back - 1) & (MASKS - 1));
	*s = (struct seen){ run, at, *ret };
	return true;
}

static void add_at(struct counting *n, struct us_change *x, struct seen *s, uint32_t at,
		   const struct before *b)
{
	uint8_t mask;
	if (!is_first(s, n->run, at, &mask))
		return;
	add(x->within, n->weight[b->counted & ~mask]);
	if (b->other)
		add(x->outside, n->weight[b->other]);
}

static void add_stack(struct counting *n, uint32_t node, uint32_t at,
		      const struct before *b)
{
	const struct us_profile_node *v = n->p->nodes.v;
	uint32_t func = v[node].func;
	add(n->c->outside, n->weight[b->other]);
	add_at(n, &n->c->self[func], &n->self[func], at, b);
	for (uint32_t i = node; i; i = v[i].parent) {
		func = v[i].func;
		add_at(n, &n->c->node[i], &n->node[i], at, b);
		add_at(n, &n->c->total[func], &n->total[func], at, b);
	}
}

static void add_idle(struct counting *n, uint8_t mask)
{
	for (unsigned i = 0; i < US_N_LAG_SUM; i++)
		n->c->idle[i] += n->weight[mask][i] * (double)n->counted /
				 (double)n->samples;
}

static uint8_t pushed(uint8_t mask, bool bit)
{
	return (uint8_t)((mask << 1 | bit) & (MASKS - 1));
}

/*
 * A pair differs in what only one of both has.  The later one adds what only it has, as
 * the samples come; the earlier one the same, as they come from the end.
 */
static void take_run(struct counting *n, const struct us_stretch_sample **x, size_t len,
		     bool backward)
{
	struct before b = { 0 };
	n->run++;
	for (uint32_t at = 0; at < len; at++) {
		uint32_t key = x[backward ? len - 1 - at : at]->key;
		uint32_t node = node_of(n->p, key);
		bool idle = key == US_STRETCH_IDLE;
		if (!backward)
			add_idle(n, (b.counted | b.other) & (idle ? ~b.idle : b.idle));
		if (node)
			add_stack(n, node, at, &b);
		b.counted = pushed(b.counted, node);
		b.other = pushed(b.other, !node);
		b.idle = pushed(b.idle, idle);
	}
}

static unsigned vcpu_of(const struct us_stretch_sample *x)
{
	return x->vcpu < US_MAX_VCPUS ? x->vcpu : 0;
}

/* Samples of each vCPU for itself, in their order. */
static void take_stretch(struct counting *n, const struct us_stretch_sample *x,
			 size_t len)
{
	size_t from[US_MAX_VCPUS + 1] = { 0 }, at[US_MAX_VCPUS];
	for (size_t i = 0; i < len; i++)
		from[vcpu_of(&x[i]) + 1] += !is_skipped(n, x[i].key);
	for (size_t i = 0; i < US_MAX_VCPUS; i++) {
		at[i] = from[i];
		from[i + 1] += from[i];
	}
	for (size_t i = 0; i < len; i++)
		if (!is_skipped(n, x[i].key))
			n->sorted[at[vcpu_of(&x[i])]++] = &x[i];
	for (size_t i = 0; i < US_MAX_VCPUS; i++) {
		take_run(n, n->sorted + from[i], from[i + 1] - from[i], false);
		take_run(n, n->sorted + from[i], from[i + 1] - from[i], true);
	}
}

static void take_time(struct counting *n, struct recent *r, uint64_t t_ns)
{
	uint64_t *then_ns = &r->t_ns[r->n_time % FAR];
	if (r->n_time >= FAR && t_ns > *then_ns && n->n_distance < DISTANCES)
		n->distance[n->n_distance++] = t_ns - *then_ns;
	*then_ns = t_ns;
	r->n_time++;
}

/* How many pairs there are, and how far samples are apart. */
static void measure(struct counting *n)
{
	const struct us_stretches *s = &n->p->stretches;
	for (size_t i = 0; i < s->n; i++) {
		struct recent *r = &n->of[vcpu_of(&s->v[i])];
		size_t stretch = 1 + i / US_STRETCH;
		if (is_skipped(n, s->v[i].key))
			continue;
		if (r->stretch != stretch)
			*r = (struct recent){ .stretch = stretch };
		for (unsigned lag = 0; lag < r->n; lag++)
			n->pairs[lag]++;
		take_time(n, r, s->v[i].t_ns);
		r->n += r->n < US_LAGS;
		n->samples++;
		n->counted += node_of(n->p, s->v[i].key) != 0;
	}
}

static void weigh(struct counting *n)
{
	for (unsigned k = 0; k < US_LAGS; k++)
		for (unsigned i = 0; i < US_N_LAG_SUM; i++)
			if (n->pairs[k] >= LEAST_PAIRS && n->counted)
				n->weight[1U << k][i] = us_lag_weight[i][k + 1] / 2 /
							(double)n->pairs[k] *
							(double)n->samples /
							(double)n->counted;
	for (unsigned mask = 1; mask < MASKS; mask++)
		if (mask & (mask - 1)) {
			memcpy(n->weight[mask], n->weight[mask & (mask - 1)],
			       sizeof(n->weight[mask]));
			add(n->weight[mask], n->weight[mask & -mask]);
		}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Of one distance, from the sums of FAR: a wake-up that is late, and made good by the
 * next one, does not matter in the long term.  From the quartiles of a normal
 * distribution: nor do a few that were lost. */
static double spread_of(struct counting *n)
{
	if (n->ticks)
		return TICK_SPREAD;
	if (n->n_distance < LEAST_PAIRS)
		return n->samples < LEAST_PAIRS ? 1 : US_UNIFORM_SPREAD;
	qsort(n->distance, n->n_distance, sizeof(*n->distance), compare);
	double quartile[3];
	for (unsigned i = 0; i < 3; i++)
		quartile[i] = (double)n->distance[n->n_distance * (i + 1) / 4];
	double deviation = (quartile[2] - quartile[0]) / 1.349 / quartile[1];
	return deviation * deviation * FAR;
}

static int count(struct counting *n)
{
	const struct us_stretches *s = &n->p->stretches;
	size_t n_func = n->p->funcs.n + 1;
	_cleanup_free_ struct seen *node = calloc(n->p->nodes.n, sizeof(*node));
	_cleanup_free_ struct seen *func = calloc(2 * n_func, sizeof(*func));
	_cleanup_free_ const struct us_stretch_sample **sorted = calloc(
		US_STRETCH, sizeof(*sorted));
	if (!node || !func || !sorted)
		return -ENOMEM;
	n->node = node;
	n->self = func;
	n->total = func + n_func;
	n->sorted = sorted;
	for (size_t i = 0; i < s->n; i += US_STRETCH)
		take_stretch(n, s->v + i,
			     s->n - i < US_STRETCH ? s->n - i : US_STRETCH);
	return 0;
}

int us_changes_count(const struct us_profile *p, struct us_changes *ret)
{
	_cleanup_free_ struct recent *of = calloc(US_MAX_VCPUS, sizeof(*of));
	_cleanup_free_ uint64_t *distance = calloc(DISTANCES, sizeof(*distance));
	*ret = (struct us_changes){
		.node = calloc(p->nodes.n, sizeof(*ret->node)),
		.self = calloc(p->funcs.n + 1, sizeof(*ret->self)),
		.total = calloc(p->funcs.n + 1, sizeof(*ret->total)),
	};
	struct counting n = {
		.p = p, .c = ret, .ticks = only_ticks(p), .of = of, .distance = distance
	};
	bool ok = of && distance && ret->node && ret->self && ret->total;
	if (ok) {
		measure(&n);
		weigh(&n);
		ret->spread = spread_of(&n);
		ret->samples = (double)n.samples;
		ret->counted = (double)n.counted;
	}
	if (!ok || count(&n)) {
		us_changes_fini(ret);
		return -ENOMEM;
	}
	return 0;
}

void us_changes_fini(struct us_changes *c)
{
	free(c->node);
	free(c->self);
	free(c->total);
	*c = (struct us_changes){ 0 };
}

void us_changes_of(const struct us_changes *c, const struct us_change *x,
		   struct us_span_error *ret)
{
	double s = ret->share;
	for (unsigned i = 0; i < US_N_LAG_SUM; i++)
		ret->changes[i] = x->within[i] + (1 - 2 * s) * x->outside[i] +
				  s * s * c->outside[i];
	ret->compared = c->counted;
}
