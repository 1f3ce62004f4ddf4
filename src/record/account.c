/* SPDX-License-Identifier: GPL-2.0-or-later */
/* account.c: see account.h. */
#include "record/account.h"

#define SUB_BITS 5
#define SUB	 (1U << SUB_BITS)

/* Values below 64 have a bucket each; from there on, the top six bits choose. */
static unsigned bucket_of(uint64_t v)
{
	unsigned top = v < SUB ? SUB_BITS : 63U - (unsigned)__builtin_clzll(v);
	unsigned shift = top - SUB_BITS;
	return shift * SUB + (unsigned)(v >> shift);
}

static uint64_t last_of(unsigned bucket)
{
	unsigned shift = bucket < 2 * SUB ? 0 : bucket / SUB - 1;
	return ((uint64_t)(bucket - shift * SUB + 1) << shift) - 1;
}

void us_histogram_add(struct us_histogram *h, uint64_t v)
{
	h->n++;
	h->bucket[bucket_of(v)]++;
	if (v > h->max)
		h->max = v;
}

uint64_t us_histogram_quantile(const struct us_histogram *h, double share)
{
	uint64_t need = (uint64_t)(share * (double)h->n), sum = 0;
	if (!h->n)
		return 0;
	if ((double)need < share * (double)h->n || !need)
		need++;
	for (unsigned i = 0; i < US_HISTOGRAM_BUCKETS; i++) {
		sum += h->bucket[i];
		if (sum >= need)
			return last_of(i) < h->max ? last_of(i) : h->max;
	}
	return h->max;
}

static uint64_t *count_of(struct us_record_stats *s, uint8_t state)
{
	switch (state) {
	case US_VCPU_HALTED:
		return &s->idle;
	case US_VCPU_OFF:
		return &s->off;
	default:
		return &s->running;
	}
}

void us_account_add(struct us_account *a, const struct us_sample *s, uint64_t held_ns,
		    bool written)
{
	struct us_record_stats *t = &a->taken;
	if (held_ns)
		us_histogram_add(&a->held, held_ns);
	if (!written) {
		t->lost += s->weight;
		return;
	}
	uint64_t *count = count_of(t, s->state);
	*count += s->weight;
	if (count == &t->running && s->end != US_END_NONE && s->end != US_END_ROOT)
		t->truncated += s->weight;
}

static uint64_t decided(const struct us_record_stats *s)
{
	return s->running + s->idle + s->off + s->late + s->backed_off + s->failed +
	       s->lost;
}

void us_account_sum(const struct us_account *a, const struct us_backend_counts *counts,
		    uint64_t elapsed_ns, struct us_record_stats *ret)
{
	*ret = a->taken;
	ret->elapsed_ns = elapsed_ns;
	ret->late = counts->late;
	ret->backed_off = counts->backed_off;
	ret->failed = counts->failed;
	ret->lost += counts->lost;
	ret->stolen_ns = counts->stolen_ns;
	ret->vcpu_ns = counts->vcpu_ns;
	ret->held_p50_ns = us_histogram_quantile(&a->held, 0.5);
	ret->held_p99_ns = us_histogram_quantile(&a->held, 0.99);
	ret->held_max_ns = a->held.max > counts->held_max_ns ? a->held.max
							     : counts->held_max_ns;
	ret->due = decided(ret);
}

void us_account_close(struct us_record_stats *s, const struct us_backend_counts *counts,
		      uint64_t under_way)
{
	if (counts->due <= s->due || counts->due - s->due <= under_way)
		return;
	s->failed += counts->due - s->due;
	s->due = decided(s);
}
