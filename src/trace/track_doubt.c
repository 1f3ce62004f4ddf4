/* SPDX-License-Identifier: GPL-2.0-or-later */
/* track_doubt.c: interrupts that looked like calls or jumps; see track.h. */
#include "trace/track_frames.h"

static bool is_call(const struct us_tracker *t)
{
	return t->next == US_NEXT_CALL || t->next == US_NEXT_MAYBE;
}

/* Is it only known that some function is entered, not which one? */
static bool is_to_any(const struct us_tracker *t)
{
	switch ((enum us_track_next)t->next) {
	case US_NEXT_CALL:
	case US_NEXT_MAYBE:
	case US_NEXT_ROOT:
	case US_NEXT_LEAVE:
	case US_NEXT_SWITCHED:
		return true;
	case US_NEXT_JUMP:
		return !t->function;
	default:
		return false;
	}
}

/* Is it the first function of a stack, if it is one's?  Then where that begins is
 * known. */
static bool begins_stack(const struct us_tracker *t)
{
	return (t->next == US_NEXT_ROOT && t->sp != US_TRACK_ANYWHERE) ||
	       (t->next == US_NEXT_SWITCHED && !t->link);
}

enum us_track_how us_track_how_entered(const struct us_tracker *t,
				       struct us_track_function *f)
{
	const struct us_track_frame *x = t->next == US_NEXT_JUMP ? top(t) : NULL;
	struct us_track_entering e = { .function = f, .exactly = is_call(t) };
	if (!t->how || !is_to_any(t) ||
	    (!f->by_interrupt && f->doubts == US_TRACK_DOUBTS))
		return US_HOW_UNKNOWN;
	e.framed = x && (x->kind == US_TRACK_INTERRUPT || x->doubted);
	if (x && x->kind == US_TRACK_CALL && !x->doubted && !t->unsure)
		e.sp = x->sp;
	else if (is_call(t) || begins_stack(t))
		e.sp = t->sp;
	enum us_track_how how = t->how(t, &e);
	f->doubts += how == US_HOW_SAID && !f->by_interrupt;
	return how;
}

bool us_track_is_upcall(const struct us_tracker *t, struct us_track_function *f)
{
	const struct us_track_frame *x = top(t);
	struct us_track_entering e = { .function = f, .resumed = true };
	bool any = is_to_any(t);
	/* What was interrupted goes on: with its own function, or with its jump. */
	bool expected = t->next == US_NEXT_JUMP && t->function == f;
	if (!t->how || !x || x->function == f || expected || (any && t->link))
		return false;
	if (is_call(t))
		e.sp = t->sp;
	else if (x->kind == US_TRACK_CALL && !t->unsure)
		e.sp = x->sp;
	if (any && !e.sp)
		return false;
	enum us_track_how how = t->how(t, &e);
	return how == US_HOW_UPCALL ||
	       (t->link && how == US_HOW_SAID && !f->by_interrupt);
}

static bool may_be_interrupt(const struct us_tracker *t,
			     const struct us_track_function *f)
{
	const struct us_track_frame *x = top(t);
	if (f->by_interrupt || f->doubts == US_TRACK_DOUBTS || t->unsure)
		return false;
	if ((t->next == US_NEXT_JUMP && !t->function) ||
	    (t->next == US_NEXT_LEAVE && !f->within))
		return x && x->function != f && x->kind != US_TRACK_INTERRUPT;
	return is_call(t) || begins_stack(t);
}

struct us_track_doubt *us_track_doubt_begin(struct us_tracker *t,
					    struct us_track_function *f)
{
	if (!may_be_interrupt(t, f))
		return NULL;
	const struct us_track_frame *x = top(t);
	bool jump = x && (t->next == US_NEXT_JUMP || t->next == US_NEXT_LEAVE);
	struct us_track_doubt *d = &t->doubt[t->n_doubt];
	f->doubts++;
	d->function = f;
	d->jumped = jump ? x->function : NULL;
	d->sp = jump ? x->sp : t->sp;
	d->n = (t->next == US_NEXT_SWITCHED ? 0 : us_track_n(t->stack)) + !jump;
	d->n_node = t->vcpu->n_node;
	d->parent = 0;
	if (jump)
		d->parent = t->tree.node[x->node].parent;
	else if (x && is_call(t))
		d->parent = x->node;
	d->saved.under = t->stack->number;
	d->saved.foreign = jump && x->foreign;
	us_track_save_next(t, &d->saved, t->vcpu->node, true);
	return d;
}

void us_track_doubt_keep(struct us_tracker *t, struct us_track_doubt *d)
{
	struct us_track_frame *x = top(t);
	if (us_track_n(t->stack) != d->n)
		return; /* there was no room */
	x->doubted = true;
	d->stack = t->stack->number;
	d->switches = t->vcpu->switches;
	t->n_doubt = (uint8_t)((t->n_doubt + 1) % US_TRACK_DOUBTS);
}

/* The latest doubt about the frame on top. */
static const struct us_track_doubt *doubt_of_top(const struct us_tracker *t)
{
	for (unsigned i = 1; i <= US_TRACK_DOUBTS; i++) {
		unsigned at = (t->n_doubt + US_TRACK_DOUBTS - i) % US_TRACK_DOUBTS;
		const struct us_track_doubt *d = &t->doubt[at];
		if (d->function && d->stack == t->stack->number &&
		    d->n == us_track_n(t->stack))
			return d;
	}
	return NULL;
}

/*
 * Does the exception return load from where the processor stored its frame?  According
 * to Intel's manual (volume 3, "Exception and Interrupt Handling") that is, for 64-bit
 * code, 5 words below the aligned stack pointer; for other code, 3 words of 4 bytes.
 * Code that enters a program with an exception return builds the frame elsewhere, and
 * was called.
 *
 * With link registers the processor stores nothing on the stack.  But a handler that
 * calls anything stores the register first, and boot code that changes the privilege
 * level does not.
 */
static bool is_there(const struct us_tracker *t, const struct us_track_doubt *d,
		     const struct us_track_frame *x, uint64_t sp)
{
	if (t->link)
		return !sp && x->sp && !(d->jumped && x->sp == d->sp);
	if (!d->jumped)
		return sp == (d->sp & ~15ULL) - 40 || sp == d->sp - 12;
	/* The stack pointer was somewhere below the return address. */
	return sp + 12 <= d->sp && (sp >> 32 ? sp % 16 == 8 : sp % 4 == 0);
}

/* Undo the assumed call or jump; the interrupted code continues. */
static void take_back(struct us_tracker *t, const struct us_track_doubt *d,
		      struct us_track_frame *x)
{
	if (d->jumped) {
		x->doubted = false;
		x->sp = d->sp;
		x->foreign = d->saved.foreign;
		us_track_move_on(t, x, d->jumped, false);
	} else {
		us_track_drop_to(t, d->n - 1);
	}
	if (d->stack != d->saved.under) {
		us_track_end_stack(t, t->stack);
		us_track_resume_stack(t, d->saved.under);
	}
	us_track_restore_next(t, &d->saved);
	t->resumed_at = *t->insns;
	us_track_resume(t, &d->saved);
}

bool us_track_doubt_ends(struct us_tracker *t, uint64_t sp)
{
	struct us_track_frame *x = top(t);
	if (!x || !x->doubted || t->unsure)
		return false;
	const struct us_track_doubt *d = doubt_of_top(t);
	if (!d || !is_there(t, d, x, sp))
		return false;
	d->function->by_interrupt = true;
	t->vcpu->interrupts++;
	/* If other threads ran in between, their counts cannot be distinguished. */
	if (t->vcpu->switches == d->switches)
		us_tree_move(&t->tree, d->n_node, d->parent,
			     us_track_interrupts_node(t));
	take_back(t, d, x);
	return true;
}
