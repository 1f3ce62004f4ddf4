/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * track_frames.h: the frames of the stack that a vCPU is on, for the parts of the
 * tracker (track.h).  Hot path: what each call and return does is inline.
 */
#ifndef US_TRACE_TRACK_FRAMES_H
#define US_TRACE_TRACK_FRAMES_H

#include "trace/functions.h"
#include "trace/track.h"

#define US_TRACK_ANYWHERE UINT64_MAX /* a base frame's address: no return ends it */

static inline void charge(struct us_tracker *t, uint64_t now)
{
	t->tree.node[t->vcpu->node].self += now - t->vcpu->charged;
	t->vcpu->charged = now;
}

static inline struct us_track_frame *top(const struct us_tracker *t)
{
	struct us_track_frame *f = us_track_top(t->stack);
	return f >= t->stack->frame ? f : NULL;
}

/* What is executed from now on belongs to the frame on top; without one, to what turns
 * out to be there. */
static inline void go_on(struct us_tracker *t)
{
	const struct us_track_frame *f = top(t);
	t->vcpu->node = f ? f->node : 0;
}

static inline uint32_t child(struct us_tracker *t, uint32_t parent,
			     const struct us_track_function *f)
{
	return us_tree_child(&t->tree, parent, f->number, f->address);
}

/* All code without names is one. */
static inline uint32_t node_below(struct us_tracker *t, uint32_t parent,
				  const struct us_track_function *f)
{
	bool same = f == &us_track_unnamed &&
		    t->tree.node[parent].function == f->number;
	return same ? parent : child(t, parent, f);
}

uint32_t us_track_interrupts_node(struct us_tracker *t);

/* ---- What is written down of it (track_note.c) ---- */

/* Have written down where the vCPU is, with the first n frames.  False: it is off. */
bool us_track_note_place(struct us_tracker *t, uint32_t n);
/* The same, whether it was or not. */
void us_track_note_stack(struct us_tracker *t, uint32_t epoch, uint32_t n);
/* n: frames that were there before. */
void us_track_note(struct us_tracker *t, enum us_event_kind kind, uint32_t number,
		   uint32_t n);
/* The frame on top was entered. */
void us_track_note_entry(struct us_tracker *t, enum us_event_kind kind);
/* The frame on top is there, nobody knows since when. */
void us_track_note_found(struct us_tracker *t);
/* What is on top of that stack goes on on this one. */
void us_track_note_moved(struct us_tracker *t, const struct us_track_stack *from,
			 uint32_t function);

/* The frame on top ends. */
static inline void note_exit(struct us_tracker *t)
{
	const struct us_track_frame *x = us_track_top(t->stack);
	if (x->traced)
		us_track_note(t, US_EVENT_EXIT, x->function->number,
			      us_track_n(t->stack));
}

/* Is a function written down that was entered by one at this depth? */
static inline bool is_traced(const struct us_tracker *t,
			     const struct us_track_function *f, uint32_t depth)
{
	return t->events && f->choice & US_FUNCTION_TRACED &&
	       depth < t->events->max_depth;
}

/* ---- Frames that come and go (track_frames.c) ---- */

/* A frame on top, below parent in the tree.  NULL: there is no room. */
static inline struct us_track_frame *push(struct us_tracker *t, uint32_t parent,
					  const struct us_track_function *f,
					  uint64_t sp, enum us_track_kind kind)
{
	struct us_track_stack *s = t->stack;
	struct us_track_frame *under = us_track_top(s), *x = under + 1;
	if (under == s->last) {
		s->over++;
		t->vcpu->too_deep++;
		return NULL;
	}
	uint16_t depth = under >= s->frame ? under->depth : 0;
	x->sp = sp;
	x->traced = is_traced(t, f, depth);
	x->depth = depth + x->traced;
	x->node = node_below(t, parent, f);
	x->function = f;
	x->kind = (uint8_t)kind;
	x->trap = x->doubted = x->alternate = x->foreign = x->begun = false;
	us_track_set_top(s, x);
	t->vcpu->node = x->node;
	return x;
}

/* The frame on top was entered just now. */
static inline void enter_node(struct us_tracker *t, enum us_event_kind kind)
{
	t->tree.node[t->vcpu->node].calls++;
	if (t->events)
		us_track_note_entry(t, kind);
}

#define US_TRACK_FAR 4096

/*
 * A return address lies there.  If it is far from all others, and the frame that calls
 * has no name, or no address, which a large frame of its own would have, then it is
 * another stack, and the change was not seen: firmware goes through the modes of the
 * processor.  Else one stack would have all of low memory.
 */
static inline void reach(struct us_track_stack *s, uint64_t sp)
{
	const struct us_track_frame *x = us_track_top(s);
	bool vague = x < s->frame || x->sp == US_TRACK_ANYWHERE ||
		     x->function == &us_track_unnamed;
	bool far = (sp < s->low && s->low - sp > US_TRACK_FAR) ||
		   (sp > s->high && sp - s->high > US_TRACK_FAR);
	if (vague && far)
		s->low = s->high = sp;
	if (sp < s->low)
		s->low = sp;
	if (sp > s->high)
		s->high = sp;
}

static inline void push_call(struct us_tracker *t, const struct us_track_function *f,
			     uint64_t sp)
{
	const struct us_track_frame *caller = top(t);
	reach(t->stack, sp);
	if (push(t, caller ? caller->node : 0, f, sp, US_TRACK_CALL))
		enter_node(t, US_EVENT_ENTER);
}

/* Out of line: base frames, and what interrupts enter. */
struct us_track_frame *us_track_push(struct us_tracker *t, uint32_t parent,
				     const struct us_track_function *f, uint64_t sp,
				     enum us_track_kind kind);
/* At the root: nobody knows its caller.  False: there is no room. */
bool us_track_push_base(struct us_tracker *t, const struct us_track_function *f,
			uint64_t sp);

static inline void pop(struct us_tracker *t)
{
	note_exit(t);
	us_track_drop(t->stack);
	t->vcpu->returns++;
	go_on(t);
}

/* The frame on top goes on in another function: by a jump, or as nobody knows. */
void us_track_move_on(struct us_tracker *t, struct us_track_frame *x,
		      const struct us_track_function *f, bool jump);
void us_track_drop_to(struct us_tracker *t, uint32_t n);
void us_track_pop_below(struct us_tracker *t, uint64_t sp);
/* A stack came from another vCPU, which has a tree of its own. */
void us_track_move_here(struct us_tracker *t, struct us_track_stack *s, unsigned depth);

/* ---- Which stack it is (track_stack.c) ---- */

static inline struct us_track_memory us_track_memory_of(const struct us_tracker *t,
							uint64_t sp)
{
	return t->memory && sp != US_TRACK_ANYWHERE ? t->memory(t, sp)
						    : (struct us_track_memory){ 0 };
}

/* It may be another stack: the address tells.  False: one that nobody knows. */
bool us_track_find_stack(struct us_tracker *t, uint64_t sp);
/* A return loads from there, where a call's return address lies on a stack that this
 * vCPU has left: it is on that again, and that is on top.  No instruction has said so:
 * a stack that was taken for a call can be given back by what leaves a frame. */
bool us_track_goes_back(struct us_tracker *t, uint64_t sp);
/* The frame on top of that stack goes on on this one. */
void us_track_bring_entered(struct us_tracker *t, struct us_track_stack *from);
/* Whoever had it is over. */
void us_track_end_stack(struct us_tracker *t, struct us_track_stack *s);
/* Another vCPU has gone on with the stack: this one is on one that it will tell. */
void us_track_leave_stack(struct us_tracker *t);
void us_track_take_stack(struct us_tracker *t, uint64_t sp);
/* A thread that begins: what is entered now has a stack of its own. */
void us_track_begin_stack(struct us_tracker *t, uint64_t sp);

static inline void own_stack(struct us_tracker *t)
{
	if (__builtin_expect(t->stack->tree_of != t->number, false))
		us_track_leave_stack(t);
}

/* ---- What comes next (track_enter.c) ---- */

/* What is executed next was said just now. */
static inline void expect(struct us_tracker *t, enum us_track_next next,
			  struct us_track_function *f)
{
	bool entry = next == US_NEXT_ENTRY;
	t->expected = entry ? f : NULL;
	t->next = (uint8_t)(entry ? US_NEXT_NOTHING : next);
	t->function = f;
	t->at = *t->insns;
	t->interrupted_at = UINT64_MAX;
}

/* A call or trap whose target has shown no entry: it is code without names. */
void us_track_settle_next(struct us_tracker *t);
/* Of link registers: what was called has a frame, or is kept in mind. */
void us_track_link_push(struct us_tracker *t, const struct us_track_function *f,
			bool alternate);
void us_track_link_hold(struct us_tracker *t, const struct us_track_function *f);
/* The frame on top has ended. */
void us_track_link_leave(struct us_tracker *t);
/* What is kept in mind gets a frame here; if the stack turns out to be another, it goes
 * with it. */
void us_track_link_place(struct us_tracker *t);
/* And what was kept in mind until now: in is being executed; it switches stacks. */
void us_track_link_settle(struct us_tracker *t, const struct us_track_function *in,
			  bool switches);

static inline void settle(struct us_tracker *t, const struct us_track_function *in)
{
	if (t->link)
		us_track_link_settle(t, in, false);
	else if (t->next != US_NEXT_NOTHING)
		us_track_settle_next(t);
}

/* What is about to happen, and the node of what was being executed, into the frame of
 * what came upon it; and back. */
void us_track_save_next(const struct us_tracker *t, struct us_track_frame *x,
			uint32_t node, bool save);
void us_track_restore_next(struct us_tracker *t, const struct us_track_frame *x);
/* And that is being executed again. */
void us_track_resume(struct us_tracker *t, const struct us_track_frame *x);
/* By an interrupt, a fault or a trap, which may have changed the stack; save: what was
 * to come next comes when it has ended. */
void us_track_enter_kernel(struct us_tracker *t, const struct us_track_function *f,
			   uint32_t parent, bool save, bool trap);

/* ---- Was that an interrupt? (track_doubt.c) ---- */

/* What the processor says of it. */
enum us_track_how us_track_how_entered(const struct us_tracker *t,
				       struct us_track_function *f);
/* This function is about to be entered as was said.  NULL: there is no doubt of it. */
struct us_track_doubt *us_track_doubt_begin(struct us_tracker *t,
					    struct us_track_function *f);
/* It was. */
void us_track_doubt_keep(struct us_tracker *t, struct us_track_doubt *d);
/* An exception return, which loads from sp (0: not known), ends the frame on top.
 * True: it was an interrupt's, and what that came upon goes on. */
bool us_track_doubt_ends(struct us_tracker *t, uint64_t sp);

#endif
