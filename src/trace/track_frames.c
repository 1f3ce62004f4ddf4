/* SPDX-License-Identifier: GPL-2.0-or-later */
/* track_frames.c: the frames of a stack; see track.h. */
#include "trace/track_frames.h"

/* The node above everything that interrupts and faults enter. */
uint32_t us_track_interrupts_node(struct us_tracker *t)
{
	static const struct us_track_function all = { .address = US_COUNTS_INTERRUPTS,
						      .number = US_COUNTS_INTERRUPTS };
	return child(t, 0, &all);
}

struct us_track_frame *us_track_push(struct us_tracker *t, uint32_t parent,
				     const struct us_track_function *f, uint64_t sp,
				     enum us_track_kind kind)
{
	return push(t, parent, f, sp, kind);
}

bool us_track_push_base(struct us_tracker *t, const struct us_track_function *f,
			uint64_t sp)
{
	return push(t, 0, f, sp, US_TRACK_BASE);
}

void us_track_drop_to(struct us_tracker *t, uint32_t n)
{
	while (us_track_n(t->stack) > n) {
		note_exit(t);
		us_track_drop(t->stack);
	}
}

void us_track_pop_below(struct us_tracker *t, uint64_t sp)
{
	struct us_track_stack *s = t->stack;
	while (us_track_n(s) && us_track_top(s)->sp < sp) {
		note_exit(t);
		us_track_drop(s);
	}
}

/* The frame on top continues in another function: through a jump, or in an unknown way.
 */
void us_track_move_on(struct us_tracker *t, struct us_track_frame *x,
		      const struct us_track_function *f, bool jump)
{
	t->moved = x->function != f;
	bool was = x->traced, is = is_traced(t, f, x->depth - was);
	if (was && jump && is)
		us_track_note_place(t, us_track_n(t->stack));
	else if (was)
		note_exit(t);
	x->traced = is;
	x->depth = x->depth - was + is;
	if (is && !jump)
		us_track_note(t, US_EVENT_OPEN, f->number, us_track_n(t->stack) - 1);
	x->node = child(t, t->tree.node[x->node].parent, f);
	x->function = f;
	t->vcpu->node = x->node;
}

#define MAX_UNDER 4 /* stacks below each other: programs, kernels, interrupts */

/* The parent of a frame's node in this vCPU's tree. */
static uint32_t parent_of(struct us_tracker *t, const struct us_track_stack *s,
			  uint32_t i)
{
	const struct us_track_frame *f = &s->frame[i];
	const struct us_track_stack *under = &t->stacks->v[f->under];
	if ((f->kind == US_TRACK_BASE && f->handles) ||
	    (f->kind == US_TRACK_INTERRUPT && !f->trap))
		return us_track_interrupts_node(t);
	if (f->kind == US_TRACK_INTERRUPT && under != s)
		return us_track_n(under) && under->tree_of == t->number
			       ? us_track_top(under)->node
			       : 0;
	return i && f->kind != US_TRACK_BASE ? s->frame[i - 1].node : 0;
}

#define MOVING UINT16_MAX /* no vCPU's number; a guest may make cycles of stacks */

/* A stack came from another vCPU, which has a tree of its own. */
void us_track_move_here(struct us_tracker *t, struct us_track_stack *s, unsigned depth)
{
	if (s->tree_of == t->number || s->tree_of == MOVING)
		return;
	s->tree_of = MOVING;
	for (uint32_t i = 0; i < us_track_n(s); i++) {
		struct us_track_frame *f = &s->frame[i];
		struct us_track_stack *under = &t->stacks->v[f->under];
		if (f->kind == US_TRACK_INTERRUPT && under != s && depth < MAX_UNDER)
			us_track_move_here(t, under, depth + 1);
		f->node = node_below(t, parent_of(t, s, i), f->function);
	}
	s->tree_of = t->number;
}
