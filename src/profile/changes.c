/* SPDX-License-Identifier: GPL-2.0-or-later */
/* changes.c: see changes.h. */
#include "profile/changes.h"

#include "backend/backend.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DISTANCES   8192 /* enough for quartiles */
#define FAR	    16	 /* samples whose distance is compared */
#define LEAST_PAIRS 8
#define NEARLY	    0.1 /* tolerance of the distances' quartiles, in periods */
#define PRIOR_SUMS  16	/* of FAR distances */
/* For bpf's ticks (backend/bpf/pace.h).  Each counts for the time that passed since the
 * last one, so what a vCPU does for long is counted by the clock. */
#define TICK_SPREAD 0.02

#define OLD_NS (50 * US_NS_PER_MS) /* the timer keeps one period for this long, too */
/* For a sample's weight, which is 1 or 2, or more at a high rate and if the timer has
 * skipped ticks. */
#define WEIGHT_BITS 8

#define MASK	 ((1U << US_LAGS) - 1)
#define FIT_MASK ((1U << US_FIT_LAGS) - 1)

/* What the first pass knows of a vCPU's samples in the current stretch. */
struct recent {
	uint64_t t_ns[FAR];	      /* by number modulo FAR */
	uint16_t weight[US_LAGS + 1]; /* by number modulo the array's size */
	size_t n_time, stretch;
	uint64_t began_ns; /* start of the timer's period */
	unsigned n_tick;   /* since then */
};

/* Where a node or a function was seen last.  Masks: bit k - 1 is the sample k earlier.
 */
struct seen {
	uint32_t run, at;
	uint32_t mask; /* in which samples before at */
};

/* For a sample: which earlier ones exist, and their kinds. */
struct before {
	uint32_t counted, other, idle; /* other: samples that do not count */
	uint32_t has[WEIGHT_BITS];     /* this bit is set in their weight */
	double weight;		       /* of the current sample */
	double once;		       /* the same; 0 in the backward pass */
	double fit[US_FIT_LAGS];       /* of the pair with each earlier sample */
	/* Sums over pairs with counted samples, and with other ones. */
	double with_counted[US_N_LAG_SUM], with_other[US_N_LAG_SUM];
};

struct counting {
	const struct us_profile *p;
	struct us_changes *c;
	bool ticks; /* only of running vCPUs */
	struct recent *of;
	uint64_t near[US_DISTANCES], samples, counted;
	double pairs[US_LAGS];
	double weights, counted_weights, idle_weights, profile_weight;
	unsigned n_bit; /* of weights */
	double by_lag[US_LAGS][US_N_LAG_SUM], by_distance[US_DISTANCES];
	double block[US_LAGS / 8 + 1][256]; /* of pairs with the samples in 8 bits */
	double period_ns;
	uint64_t *distance, *gap; /* of samples FAR apart; of successive ones */
	size_t n_distance, n_gap;
	struct seen *node, *self, *total; /* by node; by function */
	uint32_t run; /* number of the pass over one vCPU's samples, in one direction */
	const struct us_stretch_sample **sorted;
};

bool us_profile_only_ticks(const struct us_profile *p)
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

/* The pairs with the samples in the mask. */
static void add(const struct counting *n, double sum[US_N_LAG_SUM],
		const struct before *b, uint32_t mask)
{
	for (uint32_t m = mask & FIT_MASK; m; m &= m - 1)
		sum[US_LAG_FIT] += b->fit[__builtin_ctz(m)];
	for (unsigned bit = 0; bit < n->n_bit; bit++) {
		double weight = b->weight * (1 << bit);
		uint32_t m = mask & b->has[bit];
		for (unsigned i = 0; m; i++, m >>= 8)
			sum[US_LAG_BLOCK] += weight * n->block[i][m & 255];
	}
}

/* The node or function is in this sample.  Gets the earlier ones that it is in, too.
 * False: this sample was already noted. */
static bool is_first(struct seen *s, uint32_t run, uint32_t at, uint32_t *ret)
{
	uint32_t back = at - s->at;
	if (s->run != run || back > US_LAGS)
		*ret = 0;
	else if (!back)
		return false;
	else
		*ret = (s->mask << 1 | 1) << (back - 1) & MASK;
	*s = (struct seen){ run, at, *ret };
	return true;
}

static void add_sum(double to[US_N_LAG_SUM], const double sum[US_N_LAG_SUM])
{
	for (unsigned i = 0; i < US_N_LAG_SUM; i++)
		to[i] += sum[i];
}

static void add_at(struct counting *n, struct us_change *x, struct seen *s, uint32_t at,
		   const struct before *b)
{
	uint32_t mask;
	if (!is_first(s, n->run, at, &mask))
		return;
	if (mask)
		add(n, x->within, b, b->counted & ~mask);
	else
		add_sum(x->within, b->with_counted);
	add_sum(x->outside, b->with_other);
	x->hits += b->once;
}

static void add_stack(struct counting *n, uint32_t node, uint32_t at, struct before *b)
{
	const struct us_profile_node *v = n->p->nodes.v;
	uint32_t func = v[node].func;
	memset(b->with_counted, 0, sizeof(b->with_counted));
	memset(b->with_other, 0, sizeof(b->with_other));
	add(n, b->with_counted, b, b->counted);
	add(n, b->with_other, b, b->other);
	add_sum(n->c->outside, b->with_other);
	add_at(n, &n->c->self[func], &n->self[func], at, b);
	for (uint32_t i = node; i; i = v[i].parent) {
		func = v[i].func;
		add_at(n, &n->c->node[i], &n->node[i], at, b);
		add_at(n, &n->c->total[func], &n->total[func], at, b);
	}
}

static void add_idle(struct counting *n, const struct before *b, uint32_t mask)
{
	double sum[US_N_LAG_SUM] = { 0 };
	add(n, sum, b, mask);
	for (unsigned i = 0; i < US_N_LAG_SUM; i++)
		n->c->idle[i] += sum[i] * n->counted_weights / n->weights;
}

/* Time that was accounted for, not sampled, is one observation each time. */
static uint32_t weight_of(const struct counting *n, const struct us_stretch_sample *x)
{
	uint32_t most = (1U << WEIGHT_BITS) - 1;
	return !n->ticks || !x->weight ? 1 : x->weight < most ? x->weight : most;
}

static uint32_t pushed(uint32_t mask, bool bit)
{
	return (mask << 1 | bit) & MASK;
}

/* The class of distances that these two belong to; US_DISTANCES: beyond the last one.
 */
static unsigned piece_of(const struct counting *n, uint64_t a_ns, uint64_t b_ns)
{
	double apart = (double)(a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) / n->period_ns;
	double piece = (apart - US_DISTANCE_FROM) / US_DISTANCE_STEP;
	return piece < 0 ? 0 : piece < US_DISTANCES ? (unsigned)piece : US_DISTANCES;
}

/* Pairs of x[at] with the samples before it, or after it if step is negative. */
static void weigh_pairs(const struct counting *n, struct before *b,
			const struct us_stretch_sample **x, uint32_t at, int step)
{
	for (unsigned k = 0; k < US_FIT_LAGS && k < at; k++) {
		const struct us_stretch_sample *then = x[-step * (int)(k + 1)];
		b->fit[k] = n->by_lag[k][US_LAG_FIT] * b->weight * weight_of(n, then);
		if (n->c->fit != US_FIT_BY_DISTANCE)
			continue;
		unsigned i = piece_of(n, x[0]->t_ns, then->t_ns);
		b->fit[k] = i < US_DISTANCES ? n->by_distance[i] : 0;
	}
}

/*
 * A pair differs in what only one of the two samples has.  The forward pass adds what
 * only the later one has, the backward pass what only the earlier one has.
 */
static void take_run(struct counting *n, const struct us_stretch_sample **x, size_t len,
		     bool backward)
{
	struct before b = { 0 };
	n->run++;
	for (uint32_t at = 0; at < len; at++) {
		const struct us_stretch_sample **now = x +
						       (backward ? len - 1 - at : at);
		uint32_t key = (*now)->key;
		uint32_t node = node_of(n->p, key);
		bool idle = key == US_STRETCH_IDLE;
		uint32_t weight = weight_of(n, *now);
		b.weight = weight;
		b.once = backward ? 0 : weight;
		weigh_pairs(n, &b, now, at, backward ? -1 : 1);
		if (!backward)
			add_idle(n, &b,
				 (b.counted | b.other) & (idle ? ~b.idle : b.idle));
		if (node)
			add_stack(n, node, at, &b);
		b.counted = pushed(b.counted, node);
		b.other = pushed(b.other, !node);
		b.idle = pushed(b.idle, idle);
		for (unsigned bit = 0; bit < n->n_bit; bit++)
			b.has[bit] = pushed(b.has[bit], weight >> bit & 1);
	}
}

static unsigned vcpu_of(const struct us_stretch_sample *x)
{
	return x->vcpu < US_MAX_VCPUS ? x->vcpu : 0;
}

/* The samples of each vCPU separately, in order. */
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
	uint64_t last_ns = r->n_time ? r->t_ns[(r->n_time - 1) % FAR] : t_ns;
	if (t_ns > last_ns && n->n_gap < DISTANCES)
		n->gap[n->n_gap++] = t_ns - last_ns;
	if (r->n_time >= FAR && t_ns > *then_ns && n->n_distance < DISTANCES)
		n->distance[n->n_distance++] = t_ns - *then_ns;
	*then_ns = t_ns;
	r->n_time++;
}

/* Estimate from the samples how often a timer changed its period. */
static void count_period(struct counting *n, struct recent *r, uint64_t t_ns)
{
	if (!r->n_tick++)
		r->began_ns = t_ns;
	if (r->n_tick < US_OLD_TICKS || t_ns - r->began_ns < OLD_NS)
		return;
	n->c->periods++;
	r->n_tick = 0;
}

static bool next_sample(struct counting *n, size_t i, struct recent **ret)
{
	const struct us_stretches *s = &n->p->stretches;
	struct recent *r = &n->of[vcpu_of(&s->v[i])];
	size_t stretch = 1 + i / US_STRETCH;
	if (is_skipped(n, s->v[i].key))
		return false;
	if (r->stretch != stretch)
		*r = (struct recent){ .stretch = stretch };
	*ret = r;
	return true;
}

/* How far samples are apart. */
static void measure_distances(struct counting *n)
{
	const struct us_stretches *s = &n->p->stretches;
	struct recent *r;
	for (size_t i = 0; i < s->n; i++) {
		if (!next_sample(n, i, &r))
			continue;
		take_time(n, r, s->v[i].t_ns);
		count_period(n, r, s->v[i].t_ns);
		bool counted = node_of(n->p, s->v[i].key) != 0;
		uint32_t weight = weight_of(n, &s->v[i]);
		n->samples++;
		n->counted += counted;
		n->weights += weight;
		n->counted_weights += counted * weight;
		n->idle_weights += s->v[i].key == US_STRETCH_IDLE ? weight : 0;
		n->profile_weight += counted * s->v[i].weight;
		while (weight >> n->n_bit)
			n->n_bit++;
	}
	memset(n->of, 0, US_MAX_VCPUS * sizeof(*n->of));
}

/* How many pairs there are. */
static void measure_pairs(struct counting *n)
{
	const struct us_stretches *s = &n->p->stretches;
	struct recent *r;
	for (size_t i = 0; i < s->n; i++) {
		if (!next_sample(n, i, &r))
			continue;
		uint32_t weight = weight_of(n, &s->v[i]);
		for (size_t k = 0; k < US_LAGS && k < r->n_time; k++) {
			uint64_t then_ns = r->t_ns[(r->n_time - 1 - k) % FAR];
			n->pairs[k] += weight *
				       r->weight[(r->n_time - 1 - k) % (US_LAGS + 1)];
			if (k >= US_FIT_LAGS)
				continue;
			unsigned piece = piece_of(n, s->v[i].t_ns, then_ns);
			if (piece < US_DISTANCES)
				n->near[piece]++;
		}
		r->weight[r->n_time % (US_LAGS + 1)] = (uint16_t)weight;
		r->t_ns[r->n_time++ % FAR] = s->v[i].t_ns;
	}
}

/* The factor of half the squared difference of one pair. */
static double of_pair(const struct counting *n, double weight, double pairs)
{
	if (pairs < LEAST_PAIRS || !n->counted)
		return 0;
	return weight / 2 / pairs * n->weights / n->counted_weights;
}

static double lag_weight(const struct counting *n, enum us_lag_sum sum, unsigned lag)
{
	if (sum == US_LAG_FIT && n->c->fit == US_FIT_BY_TICKS)
		return lag <= US_TICK_LAGS ? us_tick_weight[lag] : 0;
	return us_lag_weight(sum, n->c->block, lag);
}

static void weigh(struct counting *n)
{
	n->c->block = n->ticks ? US_TICK_BLOCK : us_block_size((double)n->counted);
	for (unsigned k = 0; k < US_LAGS; k++)
		for (unsigned i = 0; i < US_N_LAG_SUM; i++)
			n->by_lag[k][i] = of_pair(n, lag_weight(n, i, k + 1),
						  n->pairs[k]);
	for (unsigned i = 0; i < US_DISTANCES; i++) {
		n->by_distance[i] = of_pair(n, us_distance_weight[i + 1],
					    (double)n->near[i]);
		if (n->c->fit == US_FIT_BY_DISTANCE && n->near[i] < LEAST_PAIRS)
			n->c->fit = US_FIT_BY_NUMBER;
	}
	for (unsigned k = 0; k < US_LAGS; k++)
		for (unsigned m = 0; m < 256; m++)
			if (m >> k % 8 & 1)
				n->block[k / 8][m] += n->by_lag[k][US_LAG_BLOCK];
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void quartiles(uint64_t *v, size_t n, double ret[3])
{
	qsort(v, n, sizeof(*v), compare);
	for (unsigned i = 0; i < 3; i++)
		ret[i] = (double)v[n * (i + 1) / 4];
}

/* The spread of one distance, from sums of FAR distances: a late wake-up that the next
 * one makes up for must not matter.  Estimated from the quartiles, as of a normal
 * distribution, so that a few lost samples do not matter either. */
static double spread_of(struct counting *n)
{
	double q[3];
	if (n->ticks) {
		n->c->fit = US_FIT_BY_TICKS;
		return TICK_SPREAD;
	}
	if (n->n_distance < LEAST_PAIRS)
		return n->samples < LEAST_PAIRS ? 1 : US_UNIFORM_SPREAD;
	quartiles(n->distance, n->n_distance, q);
	n->period_ns = q[1] / FAR;
	double deviation = (q[2] - q[0]) / 1.349 / q[1];
	double spread = deviation * deviation * FAR;
	/* If the sampler works as it should, a few sums are no evidence to the
	 * contrary. */
	quartiles(n->gap, n->n_gap, q);
	if (fabs(q[0] / n->period_ns - 0.75) >= NEARLY ||
	    fabs(q[2] / n->period_ns - 1.25) >= NEARLY)
		return spread;
	n->c->fit = US_FIT_BY_DISTANCE;
	double sums = (double)n->n_distance / FAR, part = sums / (sums + PRIOR_SUMS);
	return US_UNIFORM_SPREAD + (spread - US_UNIFORM_SPREAD) * part;
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
	_cleanup_free_ uint64_t *distance = calloc(2 * DISTANCES, sizeof(*distance));
	*ret = (struct us_changes){
		.node = calloc(p->nodes.n, sizeof(*ret->node)),
		.self = calloc(p->funcs.n + 1, sizeof(*ret->self)),
		.total = calloc(p->funcs.n + 1, sizeof(*ret->total)),
	};
	struct counting n = { .p = p,
			      .c = ret,
			      .ticks = us_profile_only_ticks(p),
			      .of = of,
			      .period_ns = 1 };
	bool ok = of && distance && ret->node && ret->self && ret->total;
	if (ok) {
		n.distance = distance;
		n.gap = distance + DISTANCES;
		measure_distances(&n);
		ret->spread = spread_of(&n);
		measure_pairs(&n);
		weigh(&n);
		ret->samples = (double)n.samples;
		ret->counted = (double)n.counted;
		ret->counted_weight = n.counted_weights;
		ret->profile_weight = n.profile_weight;
		ret->idle_share = n.samples ? n.idle_weights / n.weights : 0;
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

void us_changes_of(const struct us_changes *c, const struct us_change *x, double scale,
		   struct us_span_error *ret)
{
	double s = c->counted > 0 ? x->hits / c->counted_weight : 0;
	for (unsigned i = 0; i < US_N_LAG_SUM; i++)
		ret->changes[i] = x->within[i] + (1 - 2 * s) * x->outside[i] +
				  s * s * c->outside[i];
	ret->compared = c->counted;
	ret->compared_share = s;
	ret->compared_n = c->profile_weight * scale;
	ret->block = c->block;
	ret->periods = c->periods;
	ret->fit = c->fit;
}
