/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replay.c: see replay.h. */
#include "trace/replay.h"

#include "backend/backend.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_OPEN      (1U << 16) /* functions of a stack; guests have fewer */
#define UNKNOWN(vcpu) ((uint16_t)(US_EVENT_STACK_MASK + 1 + (vcpu)))

struct open {
	struct us_replay_span span;
	uint64_t inner_ns; /* time in the functions that it called */
	uint32_t n_shown;  /* itself and its callers */
	bool shown;
};

struct stack {
	struct open *v;
	size_t n, cap;
	uint64_t first_ns; /* when it was first seen */
	uint32_t root;
	bool seen;
};

struct us_replay {
	const struct us_replay_ops *ops;
	void *ctx;
	const struct us_replay_opts *opts;
	struct us_timeline *timeline;
	struct us_syscalls *syscalls;
	uint64_t last_ns;
	struct stack stack[US_REPLAY_STACKS];
	uint16_t on[US_MAX_VCPUS];  /* the vCPU's stack */
	uint16_t was[US_MAX_VCPUS]; /* the one before */
	uint64_t n_event;
};

bool us_replay_shows_vcpu(const struct us_replay_opts *o, unsigned vcpu)
{
	return !o->vcpu_mask || o->vcpu_mask >> (vcpu > 63 ? 63 : vcpu) & 1;
}

static bool is_shown(const struct us_replay *r, const struct us_replay_span *s)
{
	const struct us_replay_opts *o = r->opts;
	if (o->shown && s->function < o->n_shown && !o->shown[s->function])
		return false;
	if (!us_replay_shows_vcpu(o, s->vcpu))
		return false;
	if (o->max_depth && s->depth >= o->max_depth)
		return false;
	return s->begin_ns >= o->from_ns && (!o->to_ns || s->begin_ns < o->to_ns);
}

static int enter(struct us_replay *r, const struct us_timeline_event *e,
		 struct us_replay_span span)
{
	struct stack *s = &r->stack[span.stack];
	uint32_t n_shown = s->n ? s->v[s->n - 1].n_shown : 0;
	if (s->n == MAX_OPEN)
		return 0;
	if (!s->n)
		s->root = e->number;
	span.depth = n_shown;
	struct open *x = us_vec_push(s);
	if (!x)
		return -ENOMEM;
	x->span = span;
	x->shown = is_shown(r, &span);
	x->n_shown = n_shown + x->shown;
	return x->shown && r->ops->enter ? r->ops->enter(r->ctx, &x->span) : 0;
}

static struct us_replay_span span_of(const struct us_replay *r,
				     const struct us_timeline_event *e)
{
	return (struct us_replay_span){ .begin_ns = e->t_ns,
					.begin_insns = e->insns,
					.function = e->number,
					.stack = r->on[e->vcpu],
					.vcpu = e->vcpu,
					.interrupt = e->kind == US_EVENT_INTERRUPT,
					.known = e->kind != US_EVENT_OPEN };
}

/* The function's entry was not seen, at least not here. */
static int on_open(struct us_replay *r, const struct us_timeline_event *e)
{
	const struct stack *was = &r->stack[r->was[e->vcpu]];
	struct us_replay_span span = span_of(r, e);
	span.again = !r->stack[span.stack].n && was->n && was->v[was->n - 1].shown &&
		     was->v[was->n - 1].span.function == e->number;
	return enter(r, e, span);
}

/* The function on top of the stack; as: whether it ended or moved. */
static int leave_as(struct us_replay *r, uint16_t stack,
		    const struct us_timeline_event *e, struct us_replay_span as)
{
	struct stack *s = &r->stack[stack];
	struct open x = s->v[--s->n];
	uint64_t now = e->t_ns > x.span.begin_ns ? e->t_ns : x.span.begin_ns;
	uint64_t whole = now - x.span.begin_ns;
	x.span.end_ns = now;
	x.span.end_insns = e->insns;
	x.span.self_ns = whole > x.inner_ns ? whole - x.inner_ns : 0;
	x.span.ended = as.ended;
	x.span.moved = as.moved;
	x.span.vcpu = e->vcpu;
	if (s->n)
		s->v[s->n - 1].inner_ns += whole;
	return x.shown && r->ops->leave ? r->ops->leave(r->ctx, &x.span) : 0;
}

static int leave(struct us_replay *r, uint16_t stack, const struct us_timeline_event *e,
		 bool ended)
{
	return leave_as(r, stack, e, (struct us_replay_span){ .ended = ended });
}

/* It began before the trace did, or before what is left of it. */
static int leave_unknown(struct us_replay *r, const struct us_timeline_event *e)
{
	struct us_replay_span span = span_of(r, e);
	span.known = false;
	span.begin_ns = r->stack[span.stack].first_ns;
	int rc = enter(r, e, span);
	return rc ? rc : leave(r, span.stack, e, true);
}

static int on_exit_of(struct us_replay *r, const struct us_timeline_event *e)
{
	uint16_t number = r->on[e->vcpu];
	struct stack *s = &r->stack[number];
	size_t i = s->n;
	while (i && s->v[i - 1].span.function != e->number)
		i--;
	if (!i)
		return s->n ? 0 : leave_unknown(r, e);
	int rc = 0;
	while (!rc && s->n > i)
		rc = leave(r, number, e, false);
	return rc ? rc : leave(r, number, e, true);
}

static int on_jump(struct us_replay *r, const struct us_timeline_event *e)
{
	uint16_t number = r->on[e->vcpu];
	const struct stack *s = &r->stack[number];
	struct us_replay_span span = span_of(r, e);
	/* A stub that leads to the handler is a part of the interrupt, as is that. */
	span.interrupt = s->n && s->v[s->n - 1].span.interrupt;
	int rc = s->n ? leave(r, number, e, true) : 0;
	return rc ? rc : enter(r, e, span);
}

static int forget(struct us_replay *r, uint16_t number,
		  const struct us_timeline_event *e)
{
	struct stack *s = &r->stack[number];
	int rc = 0;
	while (!rc && s->n)
		rc = leave(r, number, e, false);
	s->seen = false;
	return rc;
}

/* The function on top of another stack continues on this one; for interrupts. */
static int bring(struct us_replay *r, uint16_t from, const struct us_timeline_event *e)
{
	struct stack *s = &r->stack[from];
	if (!s->n || from == r->on[e->vcpu])
		return 0;
	struct us_replay_span span = s->v[s->n - 1].span;
	int rc = leave_as(r, from, e, (struct us_replay_span){ .moved = true });
	span.stack = r->on[e->vcpu];
	span.vcpu = e->vcpu;
	span.moved = true;
	struct us_timeline_event as = *e;
	as.number = span.function;
	return rc ? rc : enter(r, &as, span);
}

static int on_stack(struct us_replay *r, const struct us_timeline_event *e)
{
	uint16_t to = e->number & US_EVENT_STACK_MASK, from = r->on[e->vcpu];
	int rc = 0;
	if (e->number & US_EVENT_MOVED)
		return bring(r, to, e);
	if (e->number & US_EVENT_FORGET)
		rc = forget(r, to, e);
	if (to != from)
		r->was[e->vcpu] = from;
	r->on[e->vcpu] = to;
	if (!r->stack[to].seen)
		r->stack[to].first_ns = e->t_ns;
	r->stack[to].seen = true;
	bool told = us_replay_shows_vcpu(r->opts, e->vcpu);
	if (rc || to == from || !r->ops->move || !told)
		return rc;
	return r->ops->move(r->ctx, e->vcpu, from, to, e->t_ns);
}

static bool is_call_shown(const struct us_replay *r, const struct us_syscall *c)
{
	const struct us_replay_opts *o = r->opts;
	if (!us_replay_shows_vcpu(o, c->vcpu))
		return false;
	if (c->begin_ns < o->from_ns || (o->to_ns && c->begin_ns >= o->to_ns))
		return false;
	return !o->is_call_shown || o->is_call_shown(o->filter, c);
}

static int on_call(void *ctx, const struct us_syscall *c)
{
	struct us_replay *r = ctx;
	bool told = r->ops->calls.enter && is_call_shown(r, c);
	return told ? r->ops->calls.enter(r->ctx, c) : 0;
}

static int on_called(void *ctx, const struct us_syscall *c)
{
	struct us_replay *r = ctx;
	bool told = r->ops->calls.leave && is_call_shown(r, c);
	return told ? r->ops->calls.leave(r->ctx, c) : 0;
}

static const struct us_syscalls_ops call_ops = { on_call, on_called };

static int on_event(void *ctx, const struct us_timeline_event *e)
{
	struct us_replay *r = ctx;
	r->n_event++;
	r->last_ns = e->t_ns;
	switch ((enum us_event_kind)e->kind) {
	case US_EVENT_ENTER:
	case US_EVENT_INTERRUPT:
		return enter(r, e, span_of(r, e));
	case US_EVENT_OPEN:
		return on_open(r, e);
	case US_EVENT_EXIT:
		return on_exit_of(r, e);
	case US_EVENT_JUMP:
		return on_jump(r, e);
	case US_EVENT_STACK:
		return on_stack(r, e);
	case US_EVENT_DATA:
		return us_syscalls_add(r->syscalls, e->vcpu, e->t_ns, e->insns, e->data,
				       e->size);
	default:
		return 0;
	}
}

int us_replay_new(uint64_t insn_ns, const struct us_replay_ops *ops, void *ctx,
		  const struct us_replay_opts *opts, struct us_replay **ret)
{
	struct us_replay *r = calloc(1, sizeof(*r));
	*ret = r;
	if (!r)
		return -ENOMEM;
	r->ops = ops;
	r->ctx = ctx;
	r->opts = opts;
	for (unsigned i = 0; i < US_MAX_VCPUS; i++)
		r->on[i] = r->was[i] = UNKNOWN(i);
	for (unsigned i = 0; i < US_REPLAY_STACKS; i++)
		r->stack[i].root = UINT32_MAX;
	int rc = us_timeline_new(insn_ns, on_event, r, &r->timeline);
	if (!rc)
		rc = us_syscalls_new(&call_ops, r, &r->syscalls);
	if (rc) {
		us_replay_free(r);
		*ret = NULL;
	}
	return rc;
}

void us_replay_free(struct us_replay *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < US_REPLAY_STACKS; i++)
		free(r->stack[i].v);
	us_timeline_free(r->timeline);
	us_syscalls_free(r->syscalls);
	free(r);
}

struct us_timeline *us_replay_timeline(struct us_replay *r)
{
	return r->timeline;
}

int us_replay_end(struct us_replay *r)
{
	return us_syscalls_end(r->syscalls, r->last_ns);
}

const struct us_syscalls *us_replay_syscalls(const struct us_replay *r)
{
	return r->syscalls;
}

uint32_t us_replay_root(const struct us_replay *r, uint16_t stack)
{
	return stack < US_REPLAY_STACKS ? r->stack[stack].root : UINT32_MAX;
}

uint64_t us_replay_n_event(const struct us_replay *r)
{
	return r->n_event;
}
