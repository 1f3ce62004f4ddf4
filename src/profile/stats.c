/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/stats.c: sums, intervals and the final order of the call tree. */
#include "profile/changes.h"
#include "profile/interval.h"
#include "profile/profile_priv.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One for each node that samples end in.  A cache line, because they are reached in
 * random order. */
struct waves {
	_Alignas(64) double v[US_COSINES];
};

/* While the tree is walked from its end: the waves of those children of a node that
 * were seen. */
struct above {
	uint32_t node;
	double wave[US_COSINES];
};

struct func_sums {
	double self[US_COSINES], total[US_COSINES];
};

struct count {
	struct us_profile *p;
	struct us_changes changes;
	struct waves *leaf;
	uint32_t *leaf_of;  /* by node; 0: no sample ends in it */
	bool *is_outermost; /* by node: no caller is the same function */
	struct {
		struct above *v;
		size_t n, cap;
	} above; /* innermost last */
	struct func_sums *func;
	double wave[US_COSINES]; /* sums over all samples */
	/* Over samples that count and were on a CPU: sums of their weight, and of
	 * weight times (weight - 1). */
	double sampled, repeats;
	double looks; /* of waiting tasks: independent looks per task */
	/* Files that are read, and those whose samples have no times (folded stacks).
	 */
	size_t n_file, n_independent;
};

static void count_fini(struct count *c)
{
	free(c->leaf);
	free(c->leaf_of);
	free(c->above.v);
	free(c->is_outermost);
	free(c->func);
	us_changes_fini(&c->changes);
}

static bool is_above(const struct us_profile *p, uint32_t node, uint32_t func)
{
	for (uint32_t up = p->nodes.v[node].parent; up; up = p->nodes.v[up].parent)
		if (p->nodes.v[up].func == func)
			return true;
	return false;
}

/* For most nodes a bit mask of the callers shows that none is the same function. */
static int find_outermost(struct count *c)
{
	const struct us_profile *p = c->p;
	_cleanup_free_ uint64_t *above = calloc(p->nodes.n, sizeof(*above));
	if (!above)
		return -ENOMEM;
	for (uint32_t i = 1; i < p->nodes.n; i++) {
		const struct us_profile_node *n = &p->nodes.v[i];
		uint64_t callers = above[n->parent], bit = 1ULL << (n->func & 63);
		c->is_outermost[i] = !(callers & bit) || !is_above(p, i, n->func);
		above[i] = callers | bit;
	}
	return 0;
}

static void count_init(struct count *c, struct us_profile *p)
{
	c->p = p;
	for (size_t i = 0; i < p->n_file; i++) {
		c->n_file += !p->file[i].left_out;
		c->n_independent += !p->file[i].left_out && p->file[i].independent;
	}
}

/* Room for the waves, in the order of the nodes. */
static int make_room(struct count *c)
{
	const struct us_profile *p = c->p;
	size_t n_leaf = 1;
	c->is_outermost = calloc(p->nodes.n, sizeof(*c->is_outermost));
	c->func = calloc(p->funcs.n + 1, sizeof(*c->func));
	c->leaf_of = calloc(p->nodes.n, sizeof(*c->leaf_of));
	if (!c->is_outermost || !c->func || !c->leaf_of || find_outermost(c))
		return -ENOMEM;
	for (size_t i = 0; i < p->nodes.n; i++)
		if (p->nodes.v[i].self)
			c->leaf_of[i] = (uint32_t)n_leaf++;
	c->leaf = aligned_alloc(sizeof(*c->leaf), n_leaf * sizeof(*c->leaf));
	if (!c->leaf)
		return -ENOMEM;
	memset(c->leaf, 0, n_leaf * sizeof(*c->leaf));
	return 0;
}

static void add_wave(double *restrict sum, double x, const double *restrict wave)
{
	for (unsigned j = 0; j < US_COSINES; j++)
		sum[j] += x * wave[j];
}

/* The waves in the middle of a slice; the last slice ends with the samples. */
static void wave_at(const struct us_profile *p, const struct us_slices *s, unsigned i,
		    double wave[US_COSINES])
{
	uint64_t from_ns = p->opts.from_ns < p->sum.last_ns ? p->opts.from_ns : 0;
	double span = (double)(p->sum.last_ns - from_ns) + 1;
	double start = (double)i * (double)s->width_ns;
	double end = fmin(start + (double)s->width_ns, span);
	double began = (double)(p->sum.first_ns - from_ns);
	start = fmax(start, fmin(began, end));
	us_cosines_at(((start + end) / 2 - began) / (span - began), wave);
}

#define AHEAD 24 /* sums; their nodes are anywhere in memory */

static void fetch_ahead(const struct count *c, size_t i, size_t end)
{
	const struct us_profile *p = c->p;
	const struct us_slice_sum *x = &p->running.sums.v[i];
	if (i + 3 * AHEAD < end)
		__builtin_prefetch(&p->key_node[x[3 * AHEAD].key]);
	if (i + 2 * AHEAD >= end)
		return;
	uint32_t node = p->key_node[x[2 * AHEAD].key];
	if (node != US_PROFILE_NONE)
		__builtin_prefetch(&c->leaf_of[node]);
	node = p->key_node[x[AHEAD].key];
	if (node != US_PROFILE_NONE)
		__builtin_prefetch(&c->leaf[c->leaf_of[node]], 1);
}

/* Add the waves of the samples in slice s to their leaves. */
static void add_waves(struct count *c, unsigned s)
{
	const struct us_profile *p = c->p;
	double wave[US_COSINES];
	uint64_t sum = 0;
	wave_at(p, &p->running, s, wave);
	size_t end = p->running.start[s + 1];
	for (size_t i = p->running.start[s]; i < end; i++) {
		const struct us_slice_sum *x = &p->running.sums.v[i];
		uint32_t node = p->key_node[x->key];
		fetch_ahead(c, i, end);
		if (node == US_PROFILE_NONE)
			continue;
		sum += x->weight;
		add_wave(c->leaf[c->leaf_of[node]].v, x->weight, wave);
	}
	add_wave(c->wave, (double)sum, wave);
}

/* Add the samples to their leaves. */
static void add_leaves(struct count *c)
{
	struct us_profile *p = c->p;
	const struct us_profile_keys *keys = &p->keys;
	struct us_profile_summary *sum = &p->sum;
	sum->running = sum->exit = sum->ready = 0;
	for (size_t i = 0; i < keys->n; i++) {
		uint32_t key = keys->v[i], node = p->key_node[key];
		uint64_t weight = keys->weight[key];
		if (node == US_PROFILE_NONE)
			continue;
		sum->running += weight;
		p->nodes.v[node].self += weight;
		if (key % US_N_KIND == US_KIND_EXIT)
			sum->exit += weight;
		if (key % US_N_KIND == US_KIND_READY)
			sum->ready += weight;
		if (weight && key < p->repeats.n)
			c->repeats += p->repeats.v[key];
	}
	c->sampled = (double)(sum->running - sum->exit - sum->ready);
}

/* Those of them that have the next stack of their vCPU. */
static void count_late(struct us_profile *p)
{
	for (size_t i = 0; i < p->key_late.cap; i++) {
		const struct us_pair_slot *x = &p->key_late.v[i];
		if (x->value && x->a < p->n_key && x->a < p->running.n_open &&
		    p->key_node[x->a] != US_PROFILE_NONE && p->keys.weight[x->a])
			p->sum.late += x->value;
	}
}

/* From the leaves to the root: children come after their parents. */
static void add_totals(struct us_profile *p)
{
	for (size_t i = p->nodes.n; i-- > 1;) {
		struct us_profile_node *n = &p->nodes.v[i];
		n->total += n->self;
		p->nodes.v[n->parent].total += n->total;
	}
	p->nodes.v[0].total = p->sum.running;
}

static void count_samples(struct count *c)
{
	struct us_profile_summary *sum = &c->p->sum;
	uint64_t before = sum->running;
	add_leaves(c);
	count_late(c->p);
	add_totals(c->p);
	sum->unfocused = before - sum->running - sum->other_part;
	c->looks = c->p->sum_weight_squares > 0
			   ? (double)before / c->p->sum_weight_squares
			   : 1;
}

static void count_functions(struct count *c)
{
	struct us_profile *p = c->p;
	for (size_t i = 1; i < p->nodes.n; i++) {
		const struct us_profile_node *n = &p->nodes.v[i];
		p->funcs.v[n->func].self += n->self;
		if (c->is_outermost[i])
			p->funcs.v[n->func].total += n->total;
	}
}

/* Weights are taken for the same everywhere, but samples in an exit or waiting for a
 * CPU have none, so they must not make that of the others look smaller. */
static double independent(const struct count *c, double share)
{
	double all = (double)c->p->sum.running;
	double hits = fmin(share * all, c->sampled);
	double within = c->sampled > 0 ? c->repeats * hits / c->sampled : 0;
	return us_interval_independent(share, all, within, c->repeats) * c->looks;
}

struct both {
	struct us_interval span, long_run;
};

/* Changes of waiting tasks from look to look are not compared, nor are samples that
 * have no order. */
static struct us_interval span_of(const struct count *c, const struct us_span_error *x)
{
	return c->p->opts.waits || c->n_independent ? us_interval_wilson(x->share, x->n)
						    : us_interval_span(x);
}

/* n_slice: enough slices of time to distinguish the waves.  Independent samples have
 * no time to change in. */
static struct both both_of(const struct count *c, const struct us_span_error *x,
			   struct us_interval span, const double wave[US_COSINES],
			   const double all[US_COSINES], unsigned n_slice)
{
	double sum[US_COSINES];
	struct both b = { span, { 0, 1 } };
	if (c->n_independent && c->n_independent == c->n_file) {
		b.long_run = span;
	} else if (n_slice >= US_PROFILE_FEW_SLICES) {
		for (unsigned j = 0; j < US_COSINES; j++)
			sum[j] = wave[j] - x->share * all[j];
		b.long_run = us_interval_wider(
			b.span, us_interval_long_run(x->share, x->n, sum));
	}
	return b;
}

static struct both intervals_of(const struct count *c, uint64_t hits,
				const struct us_change *change,
				const double wave[US_COSINES])
{
	double all = (double)c->p->sum.running, share = (double)hits / all;
	double n = independent(c, share), scale = n / all;
	double sum[US_COSINES], everything[US_COSINES];
	struct us_span_error x = {
		.share = share,
		.n = n,
		.spread = c->changes.spread,
	};
	us_changes_of(&c->changes, change, scale, &x);
	for (unsigned j = 0; j < US_COSINES; j++) {
		sum[j] = wave[j] * scale;
		everything[j] = c->wave[j] * scale;
	}
	return both_of(c, &x, span_of(c, &x), sum, everything, c->p->running.n);
}

static void node_intervals(struct count *c, uint32_t i, const double *wave)
{
	struct us_profile_node *n = &c->p->nodes.v[i];
	struct both b = intervals_of(c, n->total, &c->changes.node[i], wave);
	n->low = (float)b.span.low;
	n->high = (float)b.span.high;
	n->long_low = (float)b.long_run.low;
	n->long_high = (float)b.long_run.high;
}

/* Add a node's waves, which are complete, to those of its caller and functions. */
static int add_node(struct count *c, uint32_t i, double wave[US_COSINES])
{
	const struct us_profile_node *n = &c->p->nodes.v[i];
	if (c->leaf_of[i]) {
		add_wave(wave, 1, c->leaf[c->leaf_of[i]].v);
		add_wave(c->func[n->func].self, 1, c->leaf[c->leaf_of[i]].v);
	}
	if (c->is_outermost[i])
		add_wave(c->func[n->func].total, 1, wave);
	struct above *up = c->above.n ? &c->above.v[c->above.n - 1] : NULL;
	if (!up || up->node != n->parent) {
		up = us_vec_push(&c->above);
		if (!up)
			return -ENOMEM;
		up->node = n->parent;
	}
	add_wave(up->wave, 1, wave);
	return 0;
}

/* From the end of the tree, which is depth first: the callees of a node come just
 * before it.  So waves are in memory for one stack at a time, not for each node. */
static int walk(struct count *c)
{
	struct us_profile_node *root = &c->p->nodes.v[0];
	root->low = root->high = root->long_low = root->long_high = 1;
	for (uint32_t i = (uint32_t)c->p->nodes.n; i-- > 1;) {
		double wave[US_COSINES] = { 0 };
		size_t n = c->above.n;
		if (n && c->above.v[n - 1].node == i) {
			memcpy(wave, c->above.v[n - 1].wave, sizeof(wave));
			c->above.n--;
		}
		if (add_node(c, i, wave))
			return -ENOMEM;
		node_intervals(c, i, wave);
	}
	return 0;
}

static void func_intervals(struct count *c)
{
	for (size_t i = 0; i < c->p->funcs.n; i++) {
		struct us_profile_func *f = &c->p->funcs.v[i];
		if (!f->total)
			continue;
		struct both s = intervals_of(c, f->self, &c->changes.self[i],
					     c->func[i].self);
		struct both t = intervals_of(c, f->total, &c->changes.total[i],
					     c->func[i].total);
		f->self_low = s.span.low;
		f->self_high = s.span.high;
		f->self_long_low = s.long_run.low;
		f->self_long_high = s.long_run.high;
		f->total_low = t.span.low;
		f->total_high = t.span.high;
		f->total_long_low = t.long_run.low;
		f->total_long_high = t.long_run.high;
	}
}

/*
 * bpf knows how long a vCPU slept, but how long it ran only by ticks.  When a timer is
 * set anew, at most each 16 ticks, the time since its last tick is taken for half a
 * period (backend/bpf/pace.h), with a variance of 1/12.  Where the time begins and
 * ends, a tick or two are under way, a part of a sample remains of each state, and a
 * part of the last sum is cut off: together a variance of about 5 for each vCPU.  This
 * is the error's half width.
 */
static double tick_error(const struct us_profile *p, double all)
{
	double vcpus = (double)__builtin_popcountll(p->sum.vcpu_mask) *
		       (double)p->n_file;
	double resets = (double)p->sum.running / US_OLD_TICKS;
	return all > 0 ? 1.96 * sqrt(resets / 12 + 5 * vcpus) / all : 0;
}

static struct us_interval widened(struct us_interval x, double share, double more)
{
	double low = hypot(share - x.low, more), high = hypot(x.high - share, more);
	return (struct us_interval){ fmax(share - low, 0), fmin(share + high, 1) };
}

static void idle_interval(struct count *c)
{
	struct us_profile *p = c->p;
	const struct us_changes *changes = &c->changes;
	double all = 0, idle = 0, all_waves[US_COSINES] = { 0 };
	double wave[US_COSINES], waves[US_COSINES] = { 0 };
	for (unsigned s = 0; s < p->idle.n; s++) {
		wave_at(p, &p->idle, s, wave);
		for (size_t i = p->idle.start[s]; i < p->idle.start[s + 1]; i++) {
			const struct us_slice_sum *x = &p->idle.sums.v[i];
			add_wave(all_waves, x->weight, wave);
			all += x->weight;
			if (!x->key)
				continue;
			add_wave(waves, x->weight, wave);
			idle += x->weight;
		}
	}
	double share = all > 0 ? idle / all : 0;
	/* bpf's ticks leave idle time out; its clock knows it. */
	bool by_clock = us_profile_only_ticks(p);
	struct us_span_error x = { .share = share,
				   .n = all,
				   .spread = changes->spread,
				   .compared = changes->samples,
				   .compared_share = by_clock ? share
							      : changes->idle_share,
				   .compared_n = by_clock ? all : changes->samples,
				   .block = changes->block,
				   .periods = changes->periods,
				   .fit = changes->fit };
	memcpy(x.changes, changes->idle, sizeof(x.changes));
	struct us_interval span = span_of(c, &x);
	if (by_clock)
		span = widened(span, x.share, tick_error(p, all));
	struct both b = both_of(c, &x, span, waves, all_waves, p->idle.n);
	p->sum.idle_low = b.span.low;
	p->sum.idle_high = b.span.high;
	p->sum.idle_long_low = b.long_run.low;
	p->sum.idle_long_high = b.long_run.high;
}

static int count_intervals(struct count *c)
{
	struct us_profile *p = c->p;
	int rc = us_changes_count(p, &c->changes);
	if (rc)
		return rc;
	for (unsigned s = 0; s < p->running.n; s++)
		add_waves(c, s);
	rc = walk(c);
	if (rc)
		return rc;
	func_intervals(c);
	idle_interval(c);
	return 0;
}

int us_profile_count(struct us_profile *p, struct us_err *e)
{
	struct count c = { 0 };
	count_init(&c, p);
	count_samples(&c);
	int rc = us_profile_order_tree(p);
	if (!rc)
		rc = make_room(&c);
	if (!rc)
		count_functions(&c);
	if (!rc && !p->opts.no_intervals)
		rc = count_intervals(&c);
	count_fini(&c);
	return rc ? us_fail(e, rc, "report: out of memory") : 0;
}
