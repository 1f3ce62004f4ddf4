/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html_time.c: samples by time and vCPU, as columns.
 *
 * Time is divided into buckets of equal width.  Equal samples in a bucket are one
 * entry.  Entries are sorted by vCPU, then by time; a time is the number of buckets
 * since the previous entry.
 */
#include "report/html_priv.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "profile/moments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BUCKETS 4000
#define FEW_BUCKETS 64
#define PER_BUCKET  4 /* samples; with fewer, most buckets have none or one */

struct entry {
	uint32_t bucket, weight;
	uint64_t what;
	uint16_t vcpu; /* in the order of vcpu_order() */
};

struct table {
	struct entry *v;
	uint32_t rank[US_MAX_LANES], lane[US_MAX_LANES]; /* of a lane, and back */
	size_t n;
	uint64_t from_ns, width_ns, n_bucket, every;
};

static int by_place(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->vcpu != y->vcpu)
		return x->vcpu < y->vcpu ? -1 : 1;
	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? -1 : 1;
	return (x->what > y->what) - (x->what < y->what);
}

static bool same_place(const struct entry *a, const struct entry *b)
{
	return a->vcpu == b->vcpu && a->bucket == b->bucket && a->what == b->what;
}

/* 1, 2 or 5 times a power of ten. */
static uint64_t round_width(uint64_t least_ns)
{
	uint64_t power = 1;
	while (power < UINT64_MAX / 100 && power * 10 < least_ns)
		power *= 10;
	return power >= least_ns       ? power
	       : power * 2 >= least_ns ? power * 2
	       : power * 5 >= least_ns ? power * 5
				       : power * 10;
}

static void cut_time(struct table *t, const struct us_profile *p, size_t n)
{
	const struct us_profile_summary *s = us_profile_summary(p);
	uint64_t most = n / PER_BUCKET;
	most = most < FEW_BUCKETS ? FEW_BUCKETS : most;
	most = most > MAX_BUCKETS ? MAX_BUCKETS : most;
	/* One bucket more, because the first one begins before the first sample. */
	t->width_ns = round_width((s->last_ns - s->first_ns) / (most - 1) + 1);
	t->from_ns = s->first_ns - s->first_ns % t->width_ns;
	t->n_bucket = (s->last_ns - t->from_ns) / t->width_ns + 1;
}

/* The node, what the vCPU did, and whether the innermost function is left out. */
static uint64_t what_of(const struct us_profile_node *node, const uint32_t *node_id,
			uint64_t least, const struct us_profile_moment *m)
{
	bool left_out = m->node && node[m->node].total < least;
	uint64_t id = node_id[m->node];
	return (id * US_N_VCPU_STATE + m->state) * 2 + left_out;
}

/* By recording, then by number; the profile has them in the order in which they first
 * ran. */
static void vcpu_order(struct table *t, const struct us_profile *p)
{
	size_t n;
	us_profile_lanes(p, &n);
	for (size_t place = 0; place < n; place++) {
		size_t lane = us_profile_lane_at(p, place);
		t->rank[lane] = (uint32_t)place;
		t->lane[place] = (uint32_t)lane;
	}
}

static int make_table(struct table *t, const struct us_profile *p,
		      const uint32_t *node_id, uint64_t least)
{
	_cleanup_free_ struct us_profile_moment *m = NULL;
	size_t n, n_node, to = 0;
	const struct us_profile_node *node = us_profile_nodes(p, &n_node);
	if (us_profile_moments(p, &m, &n, &t->every))
		return -ENOMEM;
	t->v = calloc(n + 1, sizeof(*t->v));
	if (!t->v)
		return -ENOMEM;
	cut_time(t, p, n);
	vcpu_order(t, p);
	for (size_t i = 0; i < n; i++)
		t->v[i] = (struct entry){
			.bucket = (uint32_t)((m[i].t_ns - t->from_ns) / t->width_ns),
			.weight = m[i].weight,
			.what = what_of(node, node_id, least, &m[i]),
			.vcpu = (uint16_t)t->rank[m[i].lane],
		};
	if (n)
		qsort(t->v, n, sizeof(*t->v), by_place);
	for (size_t i = 0; i < n; i++)
		if (to && same_place(&t->v[to - 1], &t->v[i]))
			t->v[to - 1].weight += t->v[i].weight;
		else
			t->v[to++] = t->v[i];
	t->n = to;
	return 0;
}

static void write_vcpu(struct us_json *j, const struct us_profile *p, uint32_t lane)
{
	char name[256], safe[1024];
	size_t n_recording, n_lane;
	us_profile_recordings(p, &n_recording);
	if (n_recording == 1)
		us_json_u64(j, NULL, us_profile_lanes(p, &n_lane)[lane].vcpu);
	else
		us_json_str(j, NULL,
			    us_printable(
				    safe, sizeof(safe),
				    us_profile_lane_name(p, lane, name, sizeof(name))));
}

static void write_vcpus(struct us_json *j, const struct us_profile *p,
			const struct table *t)
{
	us_json_array(j, "vcpu");
	for (size_t i = 0; i < t->n; i++)
		if (!i || t->v[i].vcpu != t->v[i - 1].vcpu)
			write_vcpu(j, p, t->lane[t->v[i].vcpu]);
	us_json_end(j);
	us_json_array(j, "entries");
	for (size_t i = 0, from = 0; i < t->n; i++) {
		if (i + 1 < t->n && t->v[i + 1].vcpu == t->v[i].vcpu)
			continue;
		us_json_u64(j, NULL, i + 1 - from);
		from = i + 1;
	}
	us_json_end(j);
}

static void write_table(struct us_json *j, const struct us_profile *p,
			const struct table *t)
{
	us_json_object(j, "time");
	us_json_u64(j, "from", t->from_ns);
	us_json_u64(j, "width", t->width_ns);
	us_json_u64(j, "buckets", t->n_bucket);
	us_json_u64(j, "every", t->every);
	write_vcpus(j, p, t);
	us_json_array(j, "at");
	for (size_t i = 0; i < t->n; i++) {
		bool first = !i || t->v[i - 1].vcpu != t->v[i].vcpu;
		us_json_u64(j, NULL, t->v[i].bucket - (first ? 0 : t->v[i - 1].bucket));
	}
	us_json_end(j);
	us_json_array(j, "what");
	for (size_t i = 0; i < t->n; i++)
		us_json_u64(j, NULL, t->v[i].what);
	us_json_end(j);
	us_json_array(j, "weight");
	for (size_t i = 0; i < t->n; i++)
		us_json_u64(j, NULL, t->v[i].weight);
	us_json_end(j);
	us_json_end(j);
}

int us_html_time(struct us_json *j, const struct us_profile *p, const uint32_t *node_id,
		 uint64_t least)
{
	struct table t = { 0 };
	const char *backend = us_profile_fact(p, "backend");
	/* Stacks imported from text have made-up times. */
	if (backend && !strcmp(backend, "folded"))
		return 0;
	int rc = make_table(&t, p, node_id, least);
	if (!rc && t.n)
		write_table(j, p, &t);
	free(t.v);
	return rc;
}
