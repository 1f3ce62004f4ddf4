/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * track_frames.h: the frames of the stack that a vCPU is on, for the parts of the
 * tracker (track.h).  Hot path: what each call and return does is inline.
 */
#ifndef US_TRACE_TRACK_FRAMES_H
#define US_TRACE_TRACK_FRAMES_H

#include "trace/functions.h"
#include "trace/track.h"

#define US_TRACK_ANYWHERE UINT64_MAX /* address of a base frame: no return ends it */

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

/* Charge what is executed from now on to the frame on top; without one, to node 0 until
 * it is known what is there. */
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

/* All code without names is one function. */
static inline uint32_t node_below(struct us_tracker *t, uint32_t parent,
				  const struct us_track_function *f)
{
	bool same = f == &us_track_unnamed &&
		    t->tree.node[parent].function == f->number;
	return same ? parent : child(t, parent, f);
}

uint32_t us_track_interrupts_node(struct us_tracker *t);

/* ---- Writing the trace (track_note.c) ---- */

/* Make sure that the trace has the vCPU's stack, with the first n frames.  False:
 * tracing is off. */
bool us_track_note_place(struct us_tracker *t, uint32_t n);
/* Write it, even if it was written before. */
void us_track_note_stack(struct us_tracker *t, uint32_t epoch, uint32_t n);
/* Write an event; n: frames that were there before it. */
void us_track_note(struct us_tracker *t, enum us_event_kind kind, uint32_t number,
		   uint32_t n);
/* The frame on top was entered. */
void us_track_note_entry(struct us_tracker *t, enum us_event_kind kind);
/* The frame on top exists since an unknown time. */
void us_track_note_found(struct us_tracker *t);
/* The function on top of that stack continues on this one. */
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

/* Is a function traced if one at this depth enters it? */
static inline bool is_traced(const struct us_tracker *t,
			     const struct us_track_function *f, uint32_t depth)
{
	return t->events && f->choice & US_FUNCTION_TRACED &&
	       depth < t->events->max_depth;
}

/* ---- Adding and removing frames (track_frames.c) ---- */

/* Add a frame on top, below parent in the tree.  NULL: no room. */
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
	x->trap = x->doubted = x->alternate = x->foreign = x->begun = x->handles =
		x->upcall = false;
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
 * There is a return address at sp: extend the stack's range.  It may instead be another
 * stack, in a change that was not seen: firmware switches between processor modes.
 * That is assumed if sp is far from all others, and the calling frame has no name or no
 * address (a large frame of its own would have both).  Otherwise one stack would cover
 * all of low memory.
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

/* Out of line, for base frames and interrupts. */
struct us_track_frame *us_track_push(struct us_tracker *t, uint32_t parent,
				     const struct us_track_function *f, uint64_t sp,
				     enum us_track_kind kind);
/* Add a frame at the root, with an unknown caller.  False: no room. */
bool us_track_push_base(struct us_tracker *t, const struct us_track_function *f,
			uint64_t sp);

static inline void pop(struct us_tracker *t)
{
	note_exit(t);
	us_track_drop(t->stack);
	t->vcpu->returns++;
	go_on(t);
}

/* The frame on top continues in another function: by a jump, or in an unknown way. */
void us_track_move_on(struct us_tracker *t, struct us_track_frame *x,
		      const struct us_track_function *f, bool jump);
void us_track_drop_to(struct us_tracker *t, uint32_t n);
void us_track_pop_below(struct us_tracker *t, uint64_t sp);
/* A stack came from another vCPU, which has its own tree. */
void us_track_move_here(struct us_tracker *t, struct us_track_stack *s, unsigned depth);

/* ---- Finding the stack (track_stack.c) ---- */

static inline struct us_track_memory us_track_memory_of(const struct us_tracker *t,
							uint64_t sp)
{
	return t->memory && sp != US_TRACK_ANYWHERE ? t->memory(t, sp)
						    : (struct us_track_memory){ 0 };
}

/* The stack may have changed: find it by the address.  False: it is unknown. */
bool us_track_find_stack(struct us_tracker *t, uint64_t sp);
/* A return loads from sp.  If a call's return address is there on a stack that this
 * vCPU has left, the vCPU is on that stack again, and that frame is on top.  No
 * instruction announces this: a stack taken for a call can be given back by the
 * instruction that leaves the frame. */
bool us_track_goes_back(struct us_tracker *t, uint64_t sp);
/* Move the frame on top of that stack to this one. */
void us_track_bring_entered(struct us_tracker *t, struct us_track_stack *from);
/* The thread that had this stack has ended. */
void us_track_end_stack(struct us_tracker *t, struct us_track_stack *s);
/* Another vCPU continues on this stack; the next address tells which one this vCPU is
 * on. */
void us_track_leave_stack(struct us_tracker *t);
void us_track_take_stack(struct us_tracker *t, uint64_t sp);
/* At sp, on this stack's memory, another one begins. */
void us_track_replace_stack(struct us_tracker *t, uint64_t sp);
/* The vCPU continues on the stack with this number. */
void us_track_resume_stack(struct us_tracker *t, uint16_t number);
/* A thread begins: the function entered now has a stack of its own. */
void us_track_begin_stack(struct us_tracker *t, uint64_t sp);

static inline void own_stack(struct us_tracker *t)
{
	if (__builtin_expect(t->stack->tree_of != t->number, false))
		us_track_leave_stack(t);
}

/* ---- What is entered next (track_enter.c) ---- */

/* The instruction just now announced what is executed next. */
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

/* A call or trap was followed by no function's entry: its target is code without
 * names. */
void us_track_settle_next(struct us_tracker *t);
/* With link registers: add a frame for the called function, or, while the stack is
 * unknown, remember the call. */
void us_track_link_push(struct us_tracker *t, const struct us_track_function *f,
			bool alternate);
void us_track_link_hold(struct us_tracker *t, const struct us_track_function *f);
/* The frame on top has ended. */
void us_track_link_leave(struct us_tracker *t);
/* Give the remembered call a frame here; if the stack turns out to be another, the
 * frame moves there. */
void us_track_link_place(struct us_tracker *t);
/* Settle what was remembered until now; in: the function being executed; switches: it
 * switches stacks. */
void us_track_link_settle(struct us_tracker *t, const struct us_track_function *in,
			  bool switches);

static inline void settle(struct us_tracker *t, const struct us_track_function *in)
{
	if (t->link) {
		us_track_link_settle(t, in, false);
		return;
	}
	if (t->next == US_NEXT_MAYBE && in == &us_track_unnamed)
		t->next = US_NEXT_CALL;
	if (t->next != US_NEXT_NOTHING)
		us_track_settle_next(t);
}

/* Save what is about to happen, and the node being executed, in the frame of the
 * interrupt; and restore it. */
void us_track_save_next(const struct us_tracker *t, struct us_track_frame *x,
			uint32_t node, bool save);
void us_track_restore_next(struct us_tracker *t, const struct us_track_frame *x);
/* The interrupted function runs again. */
void us_track_resume(struct us_tracker *t, const struct us_track_frame *x);
/* Enter f by an interrupt, a fault or a trap, which may have changed the stack; save:
 * what was about to happen happens after it ends. */
void us_track_enter_kernel(struct us_tracker *t, const struct us_track_function *f,
			   uint32_t parent, bool save, bool trap);

/* The frame on top, an upcall, has returned: what it interrupted goes on. */
void us_track_upcall_ends(struct us_tracker *t);
/* The function `in` is being executed.  If an upcall interrupted it, that has ended. */
void us_track_upcalls_end(struct us_tracker *t, const struct us_track_function *in);

/* ---- Was that an interrupt? (track_doubt.c) ---- */

/* What the processor's state says. */
enum us_track_how us_track_how_entered(const struct us_tracker *t,
				       struct us_track_function *f);
/* f is about to be entered right behind an exception return: does that not resume what
 * was interrupted, but make an upcall? */
bool us_track_is_upcall(const struct us_tracker *t, struct us_track_function *f);
/* f is about to be entered as announced.  NULL: there is no doubt about it. */
struct us_track_doubt *us_track_doubt_begin(struct us_tracker *t,
					    struct us_track_function *f);
/* It was entered so: keep the doubt. */
void us_track_doubt_keep(struct us_tracker *t, struct us_track_doubt *d);
/* An exception return, loading from sp (0: not known), ends the frame on top.  True:
 * that was an interrupt, and what it interrupted continues. */
bool us_track_doubt_ends(struct us_tracker *t, uint64_t sp);

#endif
