/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * track_fast.h: an inline fast path for most calls, returns and entries: the vCPU is on
 * its stack, no other event is awaited, and the frame on top belongs to the calling or
 * returning function.  False: this does not apply, and nothing was done.  The functions
 * of track.h try this first and do the rest.
 *
 * The main cost here is loads of what was stored just before.  So each field is read
 * with the width that it is written with, and values are taken from places that do not
 * depend on the previous event.
 */
#ifndef US_TRACE_TRACK_FAST_H
#define US_TRACE_TRACK_FAST_H

#include "trace/track_frames.h"

#define US_UNLIKELY(x) __builtin_expect(x, false)
/* The compiler would rather not inline them, since there are several copies of each. */
#define US_ALWAYS static inline __attribute__((__always_inline__))

/* Constant for all calls of these functions, which are compiled for each
 * combination. */
struct us_track_mode {
	bool alone;  /* one vCPU: no other takes its stacks */
	bool traced; /* entries and exits are traced */
	bool here;   /* instructions are counted in us_counts_vcpu.insns */
};

_Static_assert(US_NEXT_NOTHING == 0, "awaits");

/* Is the vCPU on its stack, with nothing awaited except perhaps an entry? */
US_ALWAYS bool us_track_is_calm(const struct us_tracker *t,
				const struct us_track_mode m)
{
	if (US_UNLIKELY(t->awaits))
		return false;
	return m.alone || !US_UNLIKELY(t->stack->tree_of != t->number);
}

/* us_counts_vcpu.place: the node, and that the guest runs. */
US_ALWAYS uint64_t us_track_place(uint32_t node)
{
	return node | (uint64_t)US_COUNTS_RUNS << 32;
}

/* charge() with a known node. */
US_ALWAYS void us_track_charge_node(const struct us_tracker *t,
				    struct us_counts_vcpu *v,
				    struct us_counts_node *node,
				    const struct us_track_mode m)
{
	uint64_t now = m.here ? v->insns : *t->insns;
	node->self += now - v->charged;
	v->charged = now;
}

/* push_call() when there is room. */
US_ALWAYS void us_track_push_fast(const struct us_tracker *t, struct us_counts_vcpu *v,
				  struct us_track_frame *x, uint32_t node,
				  struct us_track_function *f, uint64_t sp,
				  const struct us_track_mode m)
{
	uint16_t depth = x[-1].depth;
	x->sp = sp;
	x->function = f;
	x->node_alone = node;
	if (m.traced) {
		x->traced = is_traced(t, f, depth);
		x->depth = depth + x->traced;
	}
	v->place = us_track_place(node);
	t->tree.node[node].calls++;
}

/* us_track_note(), fast path. */
US_ALWAYS void us_track_note_fast(struct us_tracker *t, enum us_event_kind kind,
				  uint32_t number, uint32_t n)
{
	struct us_events *e = t->events;
	uint32_t epoch = us_events_epoch(e);
	if (US_UNLIKELY(e->stack != t->stack) ||
	    US_UNLIKELY(t->stack->epoch != epoch) || US_UNLIKELY(!epoch) ||
	    US_UNLIKELY(e->n >= e->calm_until) ||
	    US_UNLIKELY(t->vcpu->charged >= e->insns_at)) {
		us_track_note(t, kind, number, n);
		return;
	}
	e->record[e->n++ & e->mask] = us_events_word(kind, number, t->vcpu->charged);
	__atomic_store_n(&e->vcpu->written, e->n, __ATOMIC_RELEASE);
}

/* us_track_note_entry() for a call. */
US_ALWAYS void us_track_note_call(struct us_tracker *t, const struct us_track_frame *x)
{
	if (US_UNLIKELY(x->function->choice & (US_FUNCTION_FROM | US_FUNCTION_UNTIL)))
		us_track_note_entry(t, US_EVENT_ENTER);
	else if (x->traced)
		us_track_note_fast(t, US_EVENT_ENTER, x->function->number,
				   us_track_n(t->stack) - 1);
}

US_ALWAYS bool us_track_call_fast(struct us_tracker *t, struct us_counts_vcpu *v,
				  const struct us_track_site *site, uint64_t sp,
				  const struct us_track_mode m)
{
	struct us_track_stack *s = t->stack;
	struct us_track_frame *f = us_track_top(s);
	if (US_UNLIKELY(!us_track_is_calm(t, m)) || US_UNLIKELY(sp >= f->sp) ||
	    US_UNLIKELY(f->function != site->in) || US_UNLIKELY(sp < s->low) ||
	    US_UNLIKELY(sp > s->high) || US_UNLIKELY(f == s->last))
		return false;
	uint64_t last = t->tree.last[f->node].both;
	if (US_UNLIKELY((uint32_t)last != site->number))
		return false;
	if (m.alone) /* set early to save a register */
		us_track_set_top(s, f + 1);
	us_track_charge_node(t, v, &t->tree.node[f->node], m);
	t->expected = site->expected;
	us_track_push_fast(t, v, f + 1, (uint32_t)(last >> 32), site->target, sp, m);
	if (!m.alone)
		us_track_set_top(s, f + 1);
	if (m.traced)
		us_track_note_call(t, f + 1);
	return true;
}

US_ALWAYS bool us_track_return_fast(struct us_tracker *t, struct us_counts_vcpu *v,
				    uint64_t sp, const struct us_track_mode m)
{
	struct us_track_stack *s = t->stack;
	struct us_track_frame *f = us_track_top(s);
	if (US_UNLIKELY(!us_track_is_calm(t, m)) || US_UNLIKELY(f < s->frame) ||
	    US_UNLIKELY(f->sp != sp))
		return false;
	us_track_charge_node(t, v, &t->tree.node[f->node], m);
	if (m.traced && f->traced)
		us_track_note_fast(t, US_EVENT_EXIT, f->function->number,
				   us_track_n(s));
	us_track_set_top(s, f - 1);
	v->returns++;
	v->place = us_track_place(f[-1].node);
	return true;
}

US_ALWAYS bool us_track_enter_fast(struct us_tracker *t, const struct us_track_entry *e)
{
	if (US_UNLIKELY(t->expected != e->function))
		return false;
	t->expected = NULL;
	return true;
}

#endif
