/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile/samples.c: samples into slices, and into all else that is kept of them.
 *
 * This runs for each of millions of samples.  What is the same for all of a file is
 * computed before, and a sample calls only what it needs.
 */
#include "profile/profile_priv.h"
#include "profile/scale.h"

#include "profile/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_whole(const struct us_profile *p)
{
	const struct us_profile_opts *o = &p->opts;
	return p->n_file == 1 && !o->waits && !o->vcpu_mask && !o->from_ns &&
	       !p->to_ns && !p->file[0].left_out;
}

void us_profile_begin_samples(struct us_profile *p)
{
	const struct us_profile_opts *o = &p->opts;
	p->from_ns = o->from_ns;
	p->to_ns = o->to_ns ? o->to_ns : us_profile_phases_end(p);
	p->plain = !p->cuts.n && !p->n_phase && !o->roots;
	p->whole = is_whole(p);
	if (p->whole)
		us_slices_expect(&p->running, p->busy_ns);
}

static bool is_wanted(const struct us_profile *p, const struct us_sample *s)
{
	uint64_t mask = p->opts.vcpu_mask;
	if (mask && (s->vcpu > 63 || !(mask >> s->vcpu & 1)))
		return false;
	return s->t_ns >= p->from_ns && (!p->to_ns || s->t_ns < p->to_ns) &&
	       !p->file[p->file_now].left_out;
}

/* Add to what is kept sample by sample. */
static inline int add_one(struct us_profile *p, const struct us_sample *s, uint32_t key)
{
	int rc = p->timeline ? us_profile_add_to_timeline(p, s, key) : 0;
	if (rc)
		return rc;
	if (p->opts.by_time && !us_moments_skip(&p->moments, s->weight)) {
		uint32_t lane = us_profile_lane(p, s->vcpu);
		if (lane == US_PROFILE_NONE ||
		    us_moments_add(&p->moments,
				   &(struct us_moment){ s->t_ns, key, s->weight,
							(uint16_t)lane }))
			return -ENOMEM;
	}
	return us_stretches_skip(&p->stretches)
		       ? 0
		       : us_stretches_add(&p->stretches,
					  &(struct us_stretch_sample){
						  s->t_ns, key, s->vcpu,
						  s->weight < UINT16_MAX
							  ? (uint16_t)s->weight
							  : UINT16_MAX });
}

/* The node of its stack at its time and in its address space; US_TRIE_NONE: out of
 * memory, or of numbers. */
static inline uint32_t node_of(struct us_profile *p, const struct us_sample *s)
{
	uint32_t node = us_trie_node_of(&p->trie, s->stack);
	if (!p->plain && node != US_TRIE_NONE)
		node = us_profile_stack_at(p, node, s->t_ns - p->shift_ns);
	if (s->host && s->state == US_VCPU_EXIT && node != US_TRIE_NONE)
		node = us_profile_with_host(p, node, s->host);
	return node;
}

static int add_end(struct us_profile *p, const struct us_sample *s, uint32_t key)
{
	uint32_t *ends = us_pair_map_at(&p->key_ends, key, s->end);
	if (!ends)
		return -ENOMEM;
	*ends += s->weight;
	return 0;
}

static int add_repeats(struct us_profile *p, uint32_t key, double repeats)
{
	struct us_profile_repeats *r = &p->repeats;
	if (key >= r->n) {
		size_t n = r->n ? r->n : 1024;
		while (n <= key)
			n *= 2;
		double *v = realloc(r->v, n * sizeof(*v));
		if (!v)
			return -ENOMEM;
		memset(v + r->n, 0, (n - r->n) * sizeof(*v));
		*r = (struct us_profile_repeats){ v, n };
	}
	r->v[key] += repeats;
	return 0;
}

/* A vCPU in an exit, or one that waited, was there for all the time that the sample
 * stands for. */
static double repeats_of(const struct us_profile *p, const struct us_sample *s)
{
	if (p->file[p->file_now].independent)
		return 0;
	if (s->state == US_VCPU_GUEST)
		return (double)s->weight * (s->weight - 1);
	return s->weight * (p->recording[p->file_now].scale - 1);
}

/* repeats: in addition to the sample's own. */
static inline int count_running(struct us_profile *p, const struct us_sample *s,
				double repeats)
{
	static const uint8_t kind[US_N_VCPU_STATE] = {
		[US_VCPU_GUEST] = US_KIND_GUEST,
		[US_VCPU_EXIT] = US_KIND_EXIT,
		[US_VCPU_READY] = US_KIND_READY,
	};
	uint32_t stack = node_of(p, s);
	if (stack >= US_STRETCH_OFF / US_N_KIND)
		return -EBADMSG;
	uint32_t key = stack * US_N_KIND + kind[s->state];
	if (s->weight > 1)
		repeats += repeats_of(p, s);
	if (repeats > 0 && add_repeats(p, key, repeats))
		return -ENOMEM;
	if (s->end != US_END_ROOT && add_end(p, s, key))
		return -ENOMEM;
	if (p->opts.by_vcpu &&
	    us_profile_add_vcpu(p, key, us_profile_lane(p, s->vcpu), s->weight))
		return -ENOMEM;
	p->sum.ends[s->end] += s->weight;
	int rc = add_one(p, s, key);
	return rc ? rc
		  : us_slices_queue(&p->running, key, s->t_ns - p->opts.from_ns,
				    s->weight);
}

/* By key, as filters and idle stacks take whole keys. */
static int add_key_late(struct us_profile *p, const struct us_sample *s)
{
	uint32_t stack = node_of(p, s);
	if (stack >= US_STRETCH_OFF / US_N_KIND)
		return -EBADMSG;
	uint32_t *late = us_pair_map_at(&p->key_late, stack * US_N_KIND + US_KIND_GUEST,
					0);
	if (!late)
		return -ENOMEM;
	*late += s->weight;
	return 0;
}

/* Earlier samples of this vCPU without a stack get this one, or stay without. */
static int place_late(struct us_profile *p, const struct us_sample *s, double *placed)
{
	struct us_sample x;
	int rc = 0;
	while (!rc && us_late_take(&p->late, s->vcpu, &x)) {
		if (s->t_ns - x.t_ns < US_LATE_NS) {
			x.stack = s->stack;
			x.end = s->end;
			*placed += x.weight;
			rc = add_key_late(p, &x);
		}
		rc = rc ? rc : count_running(p, &x, 0);
	}
	return rc;
}

static inline int add_running(struct us_profile *p, const struct us_sample *s)
{
	double placed = 0;
	int rc = 0;
	if (s->state == US_VCPU_GUEST) {
		bool no_stack = us_trie_node_of(&p->trie, s->stack) == 0;
		if (no_stack && us_late_keep(&p->late, s))
			return 0;
		if (!no_stack && p->late.n)
			rc = place_late(p, s, &placed);
	}
	/* This sample and the placed ones are one observation. */
	return rc ? rc : count_running(p, s, placed * (placed + s->weight));
}

static int add_late(struct us_profile *p)
{
	struct us_sample x;
	int rc = 0;
	while (!rc && us_late_take(&p->late, UINT16_MAX, &x))
		rc = count_running(p, &x, 0);
	return rc;
}

static inline int add_idle(struct us_profile *p, const struct us_sample *s)
{
	if (p->opts.by_vcpu) {
		uint32_t lane = us_profile_lane(p, s->vcpu);
		if (lane == US_PROFILE_NONE)
			return -ENOMEM;
		p->lanes.v[lane].idle += s->weight;
	}
	return add_one(p, s, US_STRETCH_IDLE);
}

static inline bool is_off(const struct us_sample *s)
{
	return s->state == US_VCPU_OFF || s->state >= US_N_VCPU_STATE;
}

static inline int add_sample(struct us_profile *p, const struct us_sample *s)
{
	if (is_off(s))
		return add_one(p, s, US_STRETCH_OFF);
	return s->state == US_VCPU_HALTED ? add_idle(p, s) : add_running(p, s);
}

/* Sums over a batch of samples, made before each of them is handled. */
struct tally {
	uint64_t first_ns, last_ns, vcpu_mask;
	uint64_t weight[US_N_VCPU_STATE];
};

static struct tally tally_of(const struct us_sample *s, size_t n)
{
	struct tally t = { .first_ns = UINT64_MAX };
	for (size_t i = 0; i < n; i++) {
		const struct us_sample *x = &s[i];
		t.first_ns = t.first_ns < x->t_ns ? t.first_ns : x->t_ns;
		t.last_ns = t.last_ns > x->t_ns ? t.last_ns : x->t_ns;
		t.vcpu_mask |= 1ULL << (x->vcpu > 63 ? 63 : x->vcpu);
		t.weight[is_off(x) ? US_VCPU_OFF : x->state] += x->weight;
	}
	return t;
}

/* Count which part of the time vCPUs were idle. */
static int add_to_idle(struct us_profile *p, const struct tally *t,
		       const struct us_sample *s, size_t n)
{
	uint64_t idle = t->weight[US_VCPU_HALTED], from_ns = p->opts.from_ns;
	uint64_t busy = t->weight[US_VCPU_GUEST] + t->weight[US_VCPU_EXIT] +
			t->weight[US_VCPU_READY];
	int rc = 0;
	if (t->last_ns - from_ns < p->idle.end_ns && idle + busy <= UINT32_MAX) {
		if (busy)
			rc = us_slices_add(&p->idle, 0, t->last_ns - from_ns,
					   (uint32_t)busy);
		if (idle && !rc)
			rc = us_slices_add(&p->idle, 1, t->last_ns - from_ns,
					   (uint32_t)idle);
		return rc;
	}
	for (size_t i = 0; i < n && !rc; i++)
		if (!is_off(&s[i]))
			rc = us_slices_add(&p->idle, s[i].state == US_VCPU_HALTED,
					   s[i].t_ns - from_ns, s[i].weight);
	return rc;
}

static void add_tally(struct us_profile *p, const struct tally *t)
{
	struct us_profile_summary *sum = &p->sum;
	struct us_profile_recording *r = &p->recording[p->file_now];
	uint64_t exit = t->weight[US_VCPU_EXIT], ready = t->weight[US_VCPU_READY];
	uint64_t running = t->weight[US_VCPU_GUEST] + exit + ready;
	uint64_t seen_ns = t->last_ns - p->shift_ns;
	p->last_t = p->last_t > seen_ns ? p->last_t : seen_ns;
	sum->first_ns = sum->first_ns < t->first_ns ? sum->first_ns : t->first_ns;
	sum->last_ns = sum->last_ns > t->last_ns ? sum->last_ns : t->last_ns;
	sum->vcpu_mask |= t->vcpu_mask;
	sum->running += running;
	sum->exit += exit;
	sum->ready += ready;
	sum->idle += t->weight[US_VCPU_HALTED];
	sum->off += t->weight[US_VCPU_OFF];
	r->running += running;
	r->idle += t->weight[US_VCPU_HALTED];
	p->file[p->file_now].sampled = true;
}

static int add_wanted(struct us_profile *p, const struct us_sample *s, size_t n)
{
	if (!n)
		return 0;
	struct tally t = tally_of(s, n);
	add_tally(p, &t);
	int rc = add_to_idle(p, &t, s, n);
	for (size_t i = 0; i < n && !rc; i++)
		rc = add_sample(p, &s[i]);
	return rc;
}

/* The samples that are wanted, with their times in the profile. */
static size_t choose(struct us_profile *p, const struct us_sample *s, size_t n,
		     struct us_sample *ret)
{
	size_t to = 0;
	for (size_t i = 0; i < n; i++) {
		if (p->last_t < s[i].t_ns)
			p->last_t = s[i].t_ns;
		if (!is_wanted(p, &s[i]))
			continue;
		ret[to] = s[i];
		ret[to].weight = us_profile_scaled(p, s[i].weight);
		ret[to++].t_ns += p->shift_ns;
	}
	return to;
}

static int add_all(struct us_profile *p, const struct us_sample *s, size_t n)
{
	struct us_sample wanted[US_SLICES_QUEUE];
	int rc = 0;
	for (size_t some; n && !rc; s += some, n -= some) {
		some = n < US_SLICES_QUEUE ? n : US_SLICES_QUEUE;
		rc = p->whole ? add_wanted(p, s, some)
			      : add_wanted(p, wanted, choose(p, s, some, wanted));
	}
	return rc;
}

static int add_pending(struct us_profile *p)
{
	unsigned n = p->n_pending;
	p->n_pending = 0;
	return add_all(p, p->pending, n);
}

/* Prefetch the numbers of the samples' stacks, which are anywhere in memory. */
static void fetch(const struct us_profile *p, const struct us_sample *s, size_t n)
{
	for (size_t i = 0; p->trie.renumbered && i < n; i++)
		if (s[i].stack < p->trie.numbers.n)
			__builtin_prefetch(&p->trie.numbers.v[s[i].stack]);
}

int us_profile_add_sample(struct us_profile *p, const struct us_sample *s)
{
	if (p->opts.waits)
		return 0;
	fetch(p, s, 1);
	p->pending[p->n_pending++] = *s;
	return p->n_pending == US_SLICES_QUEUE ? add_pending(p) : 0;
}

/* If samples add nodes to the trie, they are added one by one, so that nodes get the
 * same numbers as with us_profile_add_sample(). */
int us_profile_add_samples(struct us_profile *p, const struct us_sample *s, size_t n)
{
	int rc = 0;
	if (!p->opts.waits && p->plain && !p->opts.host) {
		fetch(p, s, n);
		return add_all(p, s, n);
	}
	for (size_t i = 0; i < n && !rc; i++)
		rc = us_profile_add_sample(p, &s[i]);
	return rc;
}

int us_profile_end_samples(struct us_profile *p)
{
	int rc = add_pending(p);
	return rc ? rc : add_late(p);
}
