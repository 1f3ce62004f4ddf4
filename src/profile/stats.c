/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/stats.c: sums, intervals and the final order of the call tree. */
#include "profile/interval.h"
#include "profile/profile_priv.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

#define DRAWS	   1000
#define DRAWS_MANY 200	 /* where there are more functions than: */
#define MANY_FUNCS 20000 /* still a fraction of a second */
#define SEED	   20220713

/* What a function had in a slice. */
struct func_part {
	uint32_t func, slice;
	uint64_t self, total;
};

struct node_sums {
	uint64_t now;	   /* in the slice at hand */
	double xx, xn;	   /* moments of it over the slices */
	bool is_outermost; /* no caller is the same function */
};

struct count {
	struct us_profile *p;
	struct node_sums *node;
	struct func_now {
		uint64_t self, total;
	} * func;
	struct {
		struct func_part *v;
		size_t n, cap;
	} parts;
	double weight[US_SLICES_MAX]; /* of each slice */
	struct us_slice_moments all;
	double n_independent; /* samples, for Wilson */
};

static void count_fini(struct count *c)
{
	free(c->node);
	free(c->func);
	free(c->parts.v);
}

static bool is_outermost(const struct us_profile *p, uint32_t node)
{
	uint32_t func = p->nodes.v[node].func;
	for (uint32_t up = p->nodes.v[node].parent; up; up = p->nodes.v[up].parent)
		if (p->nodes.v[up].func == func)
			return false;
	return true;
}

static int count_init(struct count *c, struct us_profile *p)
{
	c->p = p;
	c->node = calloc(p->nodes.n, sizeof(*c->node));
	c->func = calloc(p->funcs.n + 1, sizeof(*c->func));
	if (!c->node || !c->func)
		return -ENOMEM;
	for (uint32_t i = 1; i < p->nodes.n; i++)
		c->node[i].is_outermost = is_outermost(p, i);
	return 0;
}

/* The samples of slice s to their leaves. Returns their weight. */
static uint64_t add_leaves(struct count *c, unsigned s)
{
	struct us_profile *p = c->p;
	uint64_t sum = 0;
	for (size_t i = p->running.start[s]; i < p->running.start[s + 1]; i++) {
		const struct us_slice_sum *x = &p->running.sums.v[i];
		uint32_t node = p->key_node[x->key];
		if (node == US_PROFILE_NONE)
			continue;
		sum += x->weight;
		c->node[node].now += x->weight;
		p->nodes.v[node].self += x->weight;
		c->func[p->nodes.v[node].func].self += x->weight;
		if (x->key % US_N_KIND == US_KIND_EXIT)
			p->sum.exit += x->weight;
		if (x->key % US_N_KIND == US_KIND_READY)
			p->sum.ready += x->weight;
	}
	return sum;
}

/* From the leaves to the root: children come after their parents. */
static void add_up(struct count *c, double weight)
{
	struct us_profile *p = c->p;
	for (size_t i = p->nodes.n; i-- > 1;) {
		struct node_sums *n = &c->node[i];
		if (!n->now)
			continue;
		double x = (double)n->now;
		n->xx += x * x;
		n->xn += x * weight;
		p->nodes.v[i].total += n->now;
		if (n->is_outermost)
			c->func[p->nodes.v[i].func].total += n->now;
		c->node[p->nodes.v[i].parent].now += n->now;
		n->now = 0;
	}
	c->node[0].now = 0;
}

static int keep_parts(struct count *c, unsigned s)
{
	for (uint32_t f = 0; f < c->p->funcs.n; f++) {
		struct func_now *now = &c->func[f];
		if (!now->total)
			continue;
		struct func_part *part = us_vec_push(&c->parts);
		if (!part)
			return -ENOMEM;
		*part = (struct func_part){ f, s, now->self, now->total };
		*now = (struct func_now){ 0 };
	}
	return 0;
}

static int count_slices(struct count *c)
{
	struct us_profile_summary *sum = &c->p->sum;
	uint64_t before = sum->running;
	sum->running = sum->exit = sum->ready = 0;
	for (unsigned s = 0; s < c->p->running.n; s++) {
		uint64_t weight = add_leaves(c, s);
		c->weight[s] = (double)weight;
		c->all.sum_n += (double)weight;
		c->all.sum_nn += (double)weight * (double)weight;
		sum->running += weight;
		add_up(c, (double)weight);
		int rc = keep_parts(c, s);
		if (rc)
			return rc;
	}
	sum->unfocused = before - sum->running - sum->other_part;
	c->p->nodes.v[0].total = sum->running;
	c->all.n_slice = c->p->running.n;
	c->n_independent = (double)sum->running;
	if (c->p->sum_weight_squares > 0)
		c->n_independent *= (double)before / c->p->sum_weight_squares;
	return 0;
}

static void node_intervals(struct count *c)
{
	struct us_profile *p = c->p;
	double sum = (double)p->sum.running;
	p->nodes.v[0].low = p->nodes.v[0].high = 1;
	for (size_t i = 1; i < p->nodes.n; i++) {
		struct us_profile_node *n = &p->nodes.v[i];
		struct us_slice_moments m = c->all;
		if (!n->total)
			continue;
		m.sum_xx = c->node[i].xx;
		m.sum_xn = c->node[i].xn;
		double share = (double)n->total / sum;
		struct us_interval both = us_interval_wider(
			us_interval_wilson(share, c->n_independent),
			us_interval_slices(share, &m));
		n->low = (float)both.low;
		n->high = (float)both.high;
	}
}

static struct us_interval both_of(struct count *c, struct us_bootstrap *b,
				  const struct us_slice_part *v, size_t n, uint64_t x)
{
	double share = (double)x / (double)c->p->sum.running;
	return us_interval_wider(us_interval_wilson(share, c->n_independent),
				 us_bootstrap_interval(b, v, n));
}

static int compare_parts(const void *a, const void *b)
{
	const struct func_part *x = a, *y = b;
	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return x->slice < y->slice ? -1 : 1;
}

/* One function, from its parts. */
static void func_intervals(struct count *c, struct us_bootstrap *b,
			   const struct func_part *part, size_t n)
{
	struct us_profile_func *f = &c->p->funcs.v[part->func];
	struct us_slice_part self[US_SLICES_MAX], total[US_SLICES_MAX];
	for (size_t i = 0; i < n; i++) {
		f->self += part[i].self;
		f->total += part[i].total;
		self[i] = (struct us_slice_part){ part[i].slice, (double)part[i].self };
		total[i] = (struct us_slice_part){ part[i].slice,
						   (double)part[i].total };
	}
	struct us_interval s = both_of(c, b, self, n, f->self);
	struct us_interval t = both_of(c, b, total, n, f->total);
	f->self_low = s.low;
	f->self_high = s.high;
	f->total_low = t.low;
	f->total_high = t.high;
}

static int all_func_intervals(struct count *c)
{
	struct us_bootstrap *b = NULL;
	unsigned draws = c->p->funcs.n > MANY_FUNCS ? DRAWS_MANY : DRAWS;
	int rc = us_bootstrap_new(c->weight, c->p->running.n, draws, SEED, &b);
	if (rc)
		return rc;
	if (c->parts.n)
		qsort(c->parts.v, c->parts.n, sizeof(*c->parts.v), compare_parts);
	for (size_t i = 0, end; i < c->parts.n; i = end) {
		for (end = i + 1; end < c->parts.n; end++)
			if (c->parts.v[end].func != c->parts.v[i].func)
				break;
		func_intervals(c, b, &c->parts.v[i], end - i);
	}
	us_bootstrap_free(b);
	return 0;
}

static int idle_interval(struct us_profile *p)
{
	struct us_slice_part part[US_SLICES_MAX];
	double weight[US_SLICES_MAX], sum = 0, idle = 0;
	struct us_bootstrap *b = NULL;
	for (unsigned s = 0; s < p->idle.n; s++) {
		weight[s] = 0;
		part[s] = (struct us_slice_part){ s, 0 };
		for (size_t i = p->idle.start[s]; i < p->idle.start[s + 1]; i++) {
			const struct us_slice_sum *x = &p->idle.sums.v[i];
			weight[s] += x->weight;
			part[s].weight += x->key ? x->weight : 0;
		}
		sum += weight[s];
		idle += part[s].weight;
	}
	int rc = us_bootstrap_new(weight, p->idle.n, DRAWS, SEED, &b);
	if (rc)
		return rc;
	struct us_interval i = us_interval_wilson(sum > 0 ? idle / sum : 0, sum);
	if (sum > 0)
		i = us_interval_wider(i, us_bootstrap_interval(b, part, p->idle.n));
	us_bootstrap_free(b);
	p->sum.idle_low = i.low;
	p->sum.idle_high = i.high;
	return 0;
}

int us_profile_count(struct us_profile *p, struct us_err *e)
{
	struct count c = { 0 };
	int rc = count_init(&c, p);
	if (!rc)
		rc = count_slices(&c);
	if (!rc)
		rc = all_func_intervals(&c);
	if (!rc)
		rc = idle_interval(p);
	if (!rc)
		node_intervals(&c);
	count_fini(&c);
	if (!rc)
		rc = us_profile_order_tree(p);
	return rc ? us_fail(e, rc, "report: out of memory") : 0;
}
