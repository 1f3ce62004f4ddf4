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

/* The last samples of a vCPU in the stretch at hand, newest first. */
struct recent {
	uint32_t node[US_LAGS];
	uint8_t n;
	bool idle[US_LAGS];
	uint64_t t_ns[FAR]; /* by number modulo FAR */
	size_t n_time, stretch;
};

struct counting {
	const struct us_profile *p;
	struct us_changes *c;
	bool ticks; /* only of running vCPUs */
	struct recent *of;
	uint64_t pairs[US_LAGS], samples, counted;
	double weight[US_LAGS][US_N_LAG_SUM]; /* of a pair; 0: in the first pass */
	bool second;
	uint64_t *distance;
	size_t n_distance;
	uint32_t *mark; /* by function: the pair that saw it */
	uint32_t n_mark;
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

static uint32_t common_caller(const struct us_profile *p, uint32_t a, uint32_t b)
{
	while (a != b)
		if (a > b) /* parents come before their children */
			a = p->nodes.v[a].parent;
		else
			b = p->nodes.v[b].parent;
	return a;
}

/* A new value for marks: it, and the two after it, are in no mark. */
static uint32_t next_mark(struct counting *n)
{
	if (n->n_mark > UINT32_MAX - 6) {
		memset(n->mark, 0, (n->p->funcs.n + 1) * sizeof(*n->mark));
		n->n_mark = 0;
	}
	n->n_mark += 3;
	return n->n_mark;
}

static uint32_t *mark_of(struct counting *n, uint32_t node)
{
	return &n->mark[n->p->nodes.v[node].func];
}

static void add(double sum[US_N_LAG_SUM], const double weight[US_N_LAG_SUM])
{
	for (unsigned i = 0; i < US_N_LAG_SUM; i++)
		sum[i] += weight[i];
}

/* The nodes of one stack up to the common caller, and the functions marked as only in
 * that stack: each once. */
static void add_part(struct counting *n, uint32_t from, uint32_t to, uint32_t only,
		     uint32_t both, const double weight[US_N_LAG_SUM])
{
	const struct us_profile *p = n->p;
	for (uint32_t i = from; i != to; i = p->nodes.v[i].parent) {
		add(n->c->node[i].within, weight);
		if (*mark_of(n, i) != only)
			continue;
		add(n->c->total[p->nodes.v[i].func].within, weight);
		*mark_of(n, i) = both;
	}
}

static void add_change(struct counting *n, uint32_t a, uint32_t b,
		       const double weight[US_N_LAG_SUM])
{
	const struct us_profile_node *v = n->p->nodes.v;
	uint32_t top = common_caller(n->p, a, b), both = next_mark(n);
	uint32_t only_a = both + 1, only_b = both + 2;
	for (uint32_t i = top; i; i = v[i].parent)
		*mark_of(n, i) = both;
	for (uint32_t i = a; i != top; i = v[i].parent)
		if (*mark_of(n, i) != both)
			*mark_of(n, i) = only_a;
	for (uint32_t i = b; i != top; i = v[i].parent)
		if (*mark_of(n, i) != both)
			*mark_of(n, i) = *mark_of(n, i) == only_a ? both : only_b;
	add_part(n, a, top, only_a, both, weight);
	add_part(n, b, top, only_b, both, weight);
	if (v[a].func != v[b].func) {
		add(n->c->self[v[a].func].within, weight);
		add(n->c->self[v[b].func].within, weight);
	}
}

/* One of the pair does not count. */
static void add_outside(struct counting *n, uint32_t node,
			const double weight[US_N_LAG_SUM])
{
	const struct us_profile *p = n->p;
	uint32_t seen = next_mark(n);
	add(n->c->outside, weight);
	add(n->c->self[p->nodes.v[node].func].outside, weight);
	for (uint32_t i = node; i; i = p->nodes.v[i].parent) {
		add(n->c->node[i].outside, weight);
		if (*mark_of(n, i) != seen)
			add(n->c->total[p->nodes.v[i].func].outside, weight);
		*mark_of(n, i) = seen;
	}
}

static void add_idle(struct counting *n, const double weight[US_N_LAG_SUM])
{
	for (unsigned i = 0; i < US_N_LAG_SUM; i++)
		n->c->idle[i] += weight[i] * (double)n->counted / (double)n->samples;
}

static void add_pair(struct counting *n, const struct recent *r, unsigned lag,
		     uint32_t node, bool idle)
{
	const double *weight = n->weight[lag];
	uint32_t other = r->node[lag];
	n->pairs[lag]++;
	if (!n->second)
		return;
	if (idle != r->idle[lag])
		add_idle(n, weight);
	if (node && other && node != other)
		add_change(n, node, other, weight);
	else if (!node != !other)
		add_outside(n, node ? node : other, weight);
}

static void take_time(struct counting *n, struct recent *r, uint64_t t_ns)
{
	uint64_t *then_ns = &r->t_ns[r->n_time % FAR];
	if (r->n_time >= FAR && t_ns > *then_ns && n->n_distance < DISTANCES)
		n->distance[n->n_distance++] = t_ns - *then_ns;
	*then_ns = t_ns;
	r->n_time++;
}

static void take_sample(struct counting *n, const struct us_stretch_sample *x,
			size_t stretch)
{
	struct recent *r = &n->of[x->vcpu < US_MAX_VCPUS ? x->vcpu : 0];
	uint32_t node = node_of(n->p, x->key);
	bool idle = x->key == US_STRETCH_IDLE;
	if (is_skipped(n, x->key))
		return;
	if (r->stretch != stretch)
		*r = (struct recent){ .stretch = stretch };
	for (unsigned lag = 0; lag < r->n; lag++)
		add_pair(n, r, lag, node, idle);
	if (!n->second)
		take_time(n, r, x->t_ns);
	memmove(r->node + 1, r->node, sizeof(r->node) - sizeof(*r->node));
	memmove(r->idle + 1, r->idle, sizeof(r->idle) - sizeof(*r->idle));
	r->node[0] = node;
	r->idle[0] = idle;
	r->n += r->n < US_LAGS;
	n->samples += !n->second;
	n->counted += !n->second && node;
}

static void take_all(struct counting *n)
{
	const struct us_stretches *s = &n->p->stretches;
	memset(n->of, 0, US_MAX_VCPUS * sizeof(*n->of));
	memset(n->pairs, 0, sizeof(n->pairs));
	for (size_t i = 0; i < s->n; i++)
		take_sample(n, &s->v[i], 1 + i / US_STRETCH);
}

static void weigh(struct counting *n)
{
	for (unsigned k = 0; k < US_LAGS; k++)
		for (unsigned i = 0; i < US_N_LAG_SUM; i++)
			if (n->pairs[k] >= LEAST_PAIRS && n->counted)
				n->weight[k][i] = us_lag_weight[i][k + 1] / 2 /
						  (double)n->pairs[k] *
						  (double)n->samples /
						  (double)n->counted;
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

int us_changes_count(const struct us_profile *p, struct us_changes *ret)
{
	_cleanup_free_ struct recent *of = calloc(US_MAX_VCPUS, sizeof(*of));
	_cleanup_free_ uint64_t *distance = calloc(DISTANCES, sizeof(*distance));
	_cleanup_free_ uint32_t *mark = calloc(p->funcs.n + 1, sizeof(*mark));
	*ret = (struct us_changes){
		.node = calloc(p->nodes.n, sizeof(*ret->node)),
		.self = calloc(p->funcs.n + 1, sizeof(*ret->self)),
		.total = calloc(p->funcs.n + 1, sizeof(*ret->total)),
	};
	if (!of || !distance || !mark || !ret->node || !ret->self || !ret->total) {
		us_changes_fini(ret);
		return -ENOMEM;
	}
	struct counting n = { .p = p,
			      .c = ret,
			      .ticks = only_ticks(p),
			      .of = of,
			      .distance = distance,
			      .mark = mark };
	take_all(&n);
	weigh(&n);
	ret->spread = spread_of(&n);
	ret->samples = (double)n.samples;
	ret->counted = (double)n.counted;
	n.second = true;
	take_all(&n);
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
