/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counts_read.c: see counts_read.h. */
#include "trace/counts_read.h"

#include <string.h>

#define BATCH 256U /* nodes */

enum us_match us_counts_match(const struct us_counts *c)
{
	int same = us_counts_are_of_images(c);
	return !same ? US_MATCH_UNKNOWN : same > 0 ? US_MATCH_YES : US_MATCH_NO;
}

/* A vCPU's tree at one moment. */
struct tree {
	struct us_counts_vcpu vcpu;
	const struct us_counts_node *node; /* in the file: it changes */
	uint32_t n;
	uint64_t rest; /* executed in vcpu.node since the last change */
	bool calls_only;
};

static struct tree tree_of(const struct us_counts *c, unsigned i)
{
	struct tree t = { .calls_only = c->head.flat == US_COUNTS_CALLS };
	t.node = us_counts_nodes(c, i, &t.n);
	memcpy(&t.vcpu, us_counts_vcpu(c, i), sizeof(t.vcpu));
	if (t.vcpu.insns > t.vcpu.charged)
		t.rest = t.vcpu.insns - t.vcpu.charged;
	return t;
}

static struct us_counted counted_of(const struct tree *t, uint32_t i)
{
	struct us_counts_node n = t->node[i];
	if (t->calls_only)
		n.self = n.calls;
	return (struct us_counted){
		.parent = n.parent < i ? n.parent : 0,
		.address = n.address,
		.calls = n.calls,
		.self = n.self + (i == t->vcpu.node ? t->rest : 0),
	};
}

static int write_tree(const struct tree *t, unsigned vcpu, struct us_writer *w,
		      struct us_counts_sums *sums, struct us_err *e)
{
	struct us_counted batch[BATCH];
	/* Code without a known function is also below the root. */
	struct us_counted root = { .address = US_COUNTS_UNNAMED };
	int r = 0;
	if (t->n)
		root.self = counted_of(t, 0).self;
	for (uint32_t i = 1; i < t->n && !r;) {
		uint32_t n = 0, first = i;
		for (; n < BATCH && i < t->n; n++, i++) {
			batch[n] = counted_of(t, i);
			sums->insns += batch[n].self;
			sums->calls += batch[n].calls;
			if (batch[n].address == US_COUNTS_FULL)
				sums->lost += batch[n].calls;
			if (batch[n].address == US_COUNTS_UNNAMED)
				sums->unnamed += batch[n].self;
		}
		r = us_writer_counted(w, vcpu, first, batch, n, e);
	}
	sums->insns += root.self;
	sums->unnamed += root.self;
	return r || !root.self ? r : us_writer_counted(w, vcpu, t->n, &root, 1, e);
}

void us_counts_sum_up(const struct us_counts *c, struct us_counts_sums *s)
{
	for (unsigned i = 0; i < s->n_vcpu; i++) {
		struct us_counts_vcpu v;
		memcpy(&v, us_counts_vcpu(c, i), sizeof(v));
		s->too_deep += v.too_deep;
		s->resets += v.resets;
		s->interrupts += v.interrupts;
	}
	s->n_full = us_counts_now(c)->n_full;
	s->slide = us_counts_slide(c);
	s->n_other = us_counts_are_of_images(c) > 0 ? us_counts_now(c)->n_differ : 0;
}

struct us_counts_sums us_counts_sums_of(const struct us_counts *c)
{
	unsigned n = us_counts_started(c);
	unsigned beyond = n > US_MAX_VCPUS ? n - US_MAX_VCPUS : 0;
	return (struct us_counts_sums){ .n_vcpu = n - beyond, .n_beyond = beyond };
}

int us_counts_record(const struct us_counts *c, struct us_writer *w,
		     struct us_counts_sums *ret, struct us_err *e)
{
	*ret = us_counts_sums_of(c);
	for (unsigned i = 0; i < ret->n_vcpu; i++) {
		struct tree t = tree_of(c, i);
		int r = write_tree(&t, i, w, ret, e);
		if (r)
			return r;
	}
	us_counts_sum_up(c, ret);
	return 0;
}
