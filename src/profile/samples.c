/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile/samples.c: samples into slices, and whatever else is kept of them.
 *
 * This is done for each of millions of samples: what is true of all of a file is found
 * out before, and nothing here is called but what a sample needs.
 */
#include "profile/profile_priv.h"

#include "profile/timeline.h"

#include <errno.h>
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
	if (is_whole(p))
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

/* To what is kept sample by sample. */
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
		       : us_stretches_add(
				 &p->stretches,
				 &(struct us_stretch_sample){ s->t_ns, key, s->vcpu });
}

/* The node of its stack, then and there; US_TRIE_NONE: out of memory, or of numbers. */
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

static inline int count_running(struct us_profile *p, const struct us_sample *s)
{
	static const uint8_t kind[US_N_VCPU_STATE] = {
		[US_VCPU_GUEST] = US_KIND_GUEST,
		[US_VCPU_EXIT] = US_KIND_EXIT,
		[US_VCPU_READY] = US_KIND_READY,
	};
	struct us_profile_summary *sum = &p->sum;
	uint32_t stack = node_of(p, s);
	if (stack >= US_STRETCH_OFF / US_N_KIND)
		return -EBADMSG;
	sum->running += s->weight;
	p->recording[p->file_now].running += s->weight;
	if (s->state == US_VCPU_EXIT)
		sum->exit += s->weight;
	if (s->state == US_VCPU_READY)
		sum->ready += s->weight;
	uint32_t key = stack * US_N_KIND + kind[s->state];
	if (s->end != US_END_ROOT && add_end(p, s, key))
		return -ENOMEM;
	if (p->opts.by_vcpu &&
	    us_profile_add_vcpu(p, key, us_profile_lane(p, s->vcpu), s->weight))
		return -ENOMEM;
	sum->ends[s->end] += s->weight;
	/* What stood in an exit, or waited, did so all the time that it stands for. */
	bool is_point = s->state == US_VCPU_GUEST;
	p->sum_weight_squares += (double)s->weight * (is_point ? s->weight : 1);
	int rc = add_one(p, s, key);
	return rc ? rc
		  : us_slices_queue(&p->running, key, s->t_ns - p->opts.from_ns,
				    s->weight);
}

/* Those before it of its vCPU whose stack is not known have this one, or none. */
static int place_late(struct us_profile *p, const struct us_sample *s)
{
	struct us_sample x;
	double placed = 0;
	int rc = 0;
	while (!rc && us_late_take(&p->late, s->vcpu, &x)) {
		if (s->t_ns - x.t_ns < US_LATE_NS) {
			x.stack = s->stack;
			x.end = s->end;
			p->sum.late += x.weight;
			placed += x.weight;
		}
		rc = count_running(p, &x);
	}
	/* They are one observation together. */
	p->sum_weight_squares += placed * (placed + s->weight);
	return rc;
}

static inline int add_running(struct us_profile *p, const struct us_sample *s)
{
	int rc = 0;
	if (s->state == US_VCPU_GUEST) {
		bool no_stack = us_trie_node_of(&p->trie, s->stack) == 0;
		if (no_stack && us_late_keep(&p->late, s))
			return 0;
		if (!no_stack && p->late.n)
			rc = place_late(p, s);
	}
	return rc ? rc : count_running(p, s);
}

static int add_late(struct us_profile *p)
{
	struct us_sample x;
	int rc = 0;
	while (!rc && us_late_take(&p->late, UINT16_MAX, &x))
		rc = count_running(p, &x);
	return rc;
}

static inline int add_idle(struct us_profile *p, const struct us_sample *s)
{
	p->sum.idle += s->weight;
	p->recording[p->file_now].idle += s->weight;
	if (p->opts.by_vcpu) {
		uint32_t lane = us_profile_lane(p, s->vcpu);
		if (lane == US_PROFILE_NONE)
			return -ENOMEM;
		p->lanes.v[lane].idle += s->weight;
	}
	return add_one(p, s, US_STRETCH_IDLE);
}

static inline int add_sample(struct us_profile *p, const struct us_sample *given)
{
	struct us_sample copy = *given, *s = &copy;
	struct us_profile_summary *sum = &p->sum;
	if (s->t_ns > p->last_t)
		p->last_t = s->t_ns;
	if (!is_wanted(p, s))
		return 0;
	p->file[p->file_now].sampled = true;
	s->t_ns += p->shift_ns;
	if (sum->first_ns > s->t_ns)
		sum->first_ns = s->t_ns;
	if (sum->last_ns < s->t_ns)
		sum->last_ns = s->t_ns;
	sum->vcpu_mask |= 1ULL << (s->vcpu > 63 ? 63 : s->vcpu);
	if (s->state == US_VCPU_OFF || s->state >= US_N_VCPU_STATE) {
		sum->off += s->weight;
		return add_one(p, s, US_STRETCH_OFF);
	}
	bool idle = s->state == US_VCPU_HALTED;
	int rc = idle ? add_idle(p, s) : add_running(p, s);
	return rc ? rc
		  : us_slices_add(&p->idle, idle, s->t_ns - p->opts.from_ns, s->weight);
}

static int add_all(struct us_profile *p, const struct us_sample *s, size_t n)
{
	int rc = 0;
	for (size_t i = 0; i < n && !rc; i++)
		rc = add_sample(p, &s[i]);
	return rc;
}

static int add_pending(struct us_profile *p)
{
	unsigned n = p->n_pending;
	p->n_pending = 0;
	return add_all(p, p->pending, n);
}

/* The numbers of their stacks are anywhere in memory. */
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

/* Where samples add nodes to the trie, these get their numbers as they always did. */
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
