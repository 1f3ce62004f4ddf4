/* SPDX-License-Identifier: GPL-2.0-or-later */
/* timeline.c: see timeline.h. */
#include "trace/timeline.h"

#include "backend/backend.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_INSN_NS 1.0 /* until two times are known */
/* A vCPU that took this many times as long for its instructions as usual has stalled.
 */
#define STALL 4

struct queue {
	struct us_timeline_event *v;
	size_t n, cap;
	size_t at;    /* the first event that was not passed to the sink */
	size_t n_set; /* events before this one have their time */
	struct us_event_data data;
};

/* What is known about a vCPU's clock: the time at a count of instructions. */
struct clock {
	uint64_t insns, t_ns;
	double insn_ns;	      /* lately */
	double usual_insn_ns; /* lately, without stalls; 0: not known */
	bool known;
	uint64_t due_ns; /* the time of the record that follows */
	bool due;
	uint64_t last_insns; /* at the last record */
	uint64_t last_ns;    /* no event is before this */
};

struct us_timeline {
	us_timeline_sink *sink;
	void *ctx;
	uint64_t insn_ns;
	unsigned n_vcpu;
	struct queue queue[US_MAX_VCPUS];
	struct clock clock[US_MAX_VCPUS];
};

int us_timeline_new(uint64_t insn_ns, us_timeline_sink *sink, void *ctx,
		    struct us_timeline **ret)
{
	struct us_timeline *t = calloc(1, sizeof(*t));
	*ret = t;
	if (!t)
		return -ENOMEM;
	t->sink = sink;
	t->ctx = ctx;
	t->insn_ns = insn_ns;
	for (unsigned i = 0; i < US_MAX_VCPUS; i++)
		t->clock[i].insn_ns = insn_ns ? (double)insn_ns : FIRST_INSN_NS;
	return 0;
}

void us_timeline_free(struct us_timeline *t)
{
	for (unsigned i = 0; t && i < US_MAX_VCPUS; i++) {
		struct queue *q = &t->queue[i];
		for (size_t k = q->at; k < q->n; k++)
			free((void *)(uintptr_t)q->v[k].data);
		free(q->v);
	}
	free(t);
}

/* A record has only the lowest bits; it may go back by a few instructions. */
static uint64_t insns_of(struct clock *c, uint64_t record)
{
	unsigned unused = 64 - US_EVENT_NUMBER_SHIFT;
	uint64_t up = (record - c->last_insns) << unused;
	int64_t step = (int64_t)up >> unused;
	c->last_insns += (uint64_t)step;
	return c->last_insns;
}

static uint64_t time_at(const struct clock *c, uint64_t insns, uint64_t limit)
{
	double ahead = (double)(int64_t)(insns - c->insns) * c->insn_ns;
	uint64_t room = limit - c->t_ns;
	if (!(ahead > 0) || limit <= c->t_ns)
		return c->t_ns;
	return ahead < (double)room ? c->t_ns + (uint64_t)ahead : limit;
}

/* Give a time, at most limit, to events that have none. */
static void set_times(struct queue *q, struct clock *c, uint64_t limit)
{
	for (; q->n_set < q->n; q->n_set++) {
		struct us_timeline_event *x = &q->v[q->n_set];
		uint64_t t = time_at(c, x->insns, limit);
		if (t > c->last_ns)
			c->last_ns = t;
		x->t_ns = c->last_ns;
	}
}

/*
 * The vCPU has come from the last time to this one.  Where it halted, or the host took
 * its CPU, instructions do not tell the time.  Then the writer gives the time to the
 * first event afterwards, so that the others were before.
 */
static void set_pace(struct clock *c, uint64_t t, uint64_t insns)
{
	double insn_ns = (double)(t - c->t_ns) / (double)(insns - c->insns);
	if (t - c->t_ns <= US_EVENTS_SPAN_NS)
		c->usual_insn_ns = insn_ns;
	bool stalled = c->usual_insn_ns > 0 && insn_ns > STALL * c->usual_insn_ns;
	c->insn_ns = stalled ? c->usual_insn_ns : insn_ns;
}

/* The preceding record had the time at this count of instructions. */
static void set_clock(struct queue *q, struct clock *c, uint64_t insns)
{
	uint64_t t = c->due_ns;
	if (c->known && insns > c->insns && t >= c->t_ns)
		set_pace(c, t, insns);
	if (c->known)
		set_times(q, c, t > c->last_ns ? t : c->last_ns);
	c->due = false;
	c->known = true;
	c->insns = insns;
	c->t_ns = t;
}

/* Add an event, without a time yet.  NULL: ignored (*ret_rc is 0), or *ret_rc is
 * -ENOMEM. */
static struct us_timeline_event *push(struct us_timeline *t, unsigned vcpu,
				      uint64_t insns, int *ret_rc)
{
	struct queue *q = &t->queue[vcpu];
	struct clock *c = &t->clock[vcpu];
	insns = insns_of(c, insns);
	if (c->due)
		set_clock(q, c, insns);
	*ret_rc = 0;
	if (!c->known && !t->insn_ns)
		return NULL;
	struct us_timeline_event *x = us_vec_push(q);
	*ret_rc = x ? 0 : -ENOMEM;
	if (x)
		*x = (struct us_timeline_event){ .insns = insns,
						 .vcpu = (uint16_t)vcpu };
	return x;
}

static int add_data(struct us_timeline *t, unsigned vcpu, uint64_t record)
{
	uint64_t insns;
	size_t n;
	int rc;
	const uint8_t *p = us_event_data_add(&t->queue[vcpu].data, record, &insns, &n);
	if (!p)
		return 0;
	uint8_t *copy = malloc(n + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, p, n);
	struct us_timeline_event *x = push(t, vcpu, insns, &rc);
	if (!x) {
		free(copy);
		return rc;
	}
	x->kind = US_EVENT_DATA;
	x->data = copy;
	x->size = (uint32_t)n;
	return 0;
}

int us_timeline_add(struct us_timeline *t, unsigned vcpu, const uint64_t *record,
		    size_t n)
{
	struct clock *c = &t->clock[vcpu];
	int rc = 0;
	if (vcpu >= t->n_vcpu)
		t->n_vcpu = vcpu + 1;
	for (size_t i = 0; i < n && !rc; i++) {
		uint64_t r = record[i];
		uint8_t kind = (uint8_t)(r >> US_EVENT_KIND_SHIFT);
		if (kind == US_EVENT_TIME) {
			c->due_ns = r & US_EVENT_TIME_MASK;
			c->due = !t->insn_ns;
		}
		if (kind == US_EVENT_DATA)
			rc = add_data(t, vcpu, r);
		if (kind == US_EVENT_TIME || kind == US_EVENT_DATA)
			continue;
		struct us_timeline_event *x = push(t, vcpu, r, &rc);
		if (x) {
			x->kind = kind;
			x->number = r >> US_EVENT_NUMBER_SHIFT & US_EVENT_NUMBER_MASK;
		}
	}
	return rc;
}

static struct queue *earliest(struct us_timeline *t, uint64_t limit)
{
	struct queue *best = NULL;
	for (unsigned i = 0; i < t->n_vcpu; i++) {
		struct queue *q = &t->queue[i];
		if (q->at == q->n || q->v[q->at].t_ns > limit)
			continue;
		if (!best || q->v[q->at].t_ns < best->v[best->at].t_ns)
			best = q;
	}
	return best;
}

static void drop_used(struct queue *q)
{
	memmove(q->v, q->v + q->at, (q->n - q->at) * sizeof(*q->v));
	q->n -= q->at;
	q->n_set -= q->at;
	q->at = 0;
}

/* Pass on the first event of a queue. */
static int pass(struct us_timeline *t, struct queue *q)
{
	struct us_timeline_event x = q->v[q->at++];
	int r = t->sink(t->ctx, &x);
	free((void *)(uintptr_t)x.data);
	return r;
}

int us_timeline_settled(struct us_timeline *t, unsigned vcpu)
{
	struct queue *q = &t->queue[vcpu];
	int r = 0;
	if (t->insn_ns)
		set_times(q, &t->clock[vcpu], UINT64_MAX);
	while (r == 0 && q->at < q->n_set)
		r = pass(t, q);
	if (q->at)
		drop_used(q);
	return r;
}

int us_timeline_until(struct us_timeline *t, uint64_t t_ns)
{
	uint64_t limit = t->insn_ns ? UINT64_MAX : t_ns;
	for (unsigned i = 0; i < t->n_vcpu; i++)
		set_times(&t->queue[i], &t->clock[i], limit);
	for (struct queue *q; (q = earliest(t, limit));) {
		int r = pass(t, q);
		if (r)
			return r;
	}
	for (unsigned i = 0; i < t->n_vcpu; i++)
		if (t->queue[i].at)
			drop_used(&t->queue[i]);
	return 0;
}
