/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * track_link.c: calls and returns where a register has the return address; see
 * track.h.
 */
#include "trace/track_frames.h"

/* The frame on top, if it is certain that it is this function's. */
static inline struct us_track_frame *top_of(const struct us_tracker *t,
					    const struct us_track_function *in)
{
	struct us_track_frame *x = top(t);
	bool sure = x && x->function == in && t->next == US_NEXT_NOTHING &&
		    !t->unsure && !t->stack->over;
	return sure ? x : NULL;
}

/* Valid only if the stack has a frame. */
static struct us_track_frame *last(const struct us_track_stack *s)
{
	return us_track_top(s);
}

static void reached(struct us_track_stack *s, uint64_t sp)
{
	if (sp < s->low)
		s->low = sp;
	if (sp > s->high)
		s->high = sp;
}

static void charge_until(struct us_tracker *t, uint64_t then)
{
	if (then > t->vcpu->charged)
		charge(t, then);
}

void us_track_link_push(struct us_tracker *t, const struct us_track_function *f,
			bool alternate)
{
	const struct us_track_frame *caller = top(t);
	struct us_track_frame *x = push(t, caller ? caller->node : 0, f, 0,
					US_TRACK_CALL);
	if (!x)
		return;
	x->alternate = alternate;
	enter_node(t, US_EVENT_ENTER);
}

/* A call to a place within the function, as in assembly: it does not enter the function
 * again. */
static void push_local(struct us_tracker *t)
{
	const struct us_track_frame *f = top(t);
	if (!f)
		return;
	struct us_track_frame *x = us_track_push(t, t->tree.node[f->node].parent,
						 f->function, 0, US_TRACK_CALL);
	if (!x)
		return;
	x->depth -= x->traced;
	x->traced = false;
}

/* ---- While the stack is not known ---- */

/* The likely node: of the function that has called since, as found on this stack.  This
 * is right after a jump back, or if the same function always calls the code that
 * switches stacks. */
static uint32_t likely_node(const struct us_tracker *t)
{
	const struct us_track_stack *s = t->stack;
	const struct us_track_frame *x = top(t);
	for (uint32_t i = us_track_n(s);
	     i-- > 0 && s->frame[i].kind != US_TRACK_INTERRUPT;)
		if (s->frame[i].function == t->held_by)
			return s->frame[i].node;
	if (x && x > s->frame && t->left && x->function == t->left)
		return x[-1].node;
	return x ? x->node : 0;
}

/* The remembered call gets a frame here; if the stack turns out to be another one, the
 * frame moves there. */
void us_track_link_place(struct us_tracker *t)
{
	const struct us_track_function *f = t->held;
	t->held = NULL;
	t->vcpu->node = likely_node(t);
	charge_until(t, t->held_at);
	struct us_track_frame *x = us_track_push(t, t->vcpu->node, f, 0, US_TRACK_CALL);
	if (!x)
		return;
	x->alternate = t->held_alternate;
	enter_node(t, US_EVENT_ENTER);
	if (!t->entered)
		t->entered_by = t->held_by;
	if (t->unsure && t->entered < UINT8_MAX)
		t->entered++;
}

void us_track_link_hold(struct us_tracker *t, const struct us_track_function *f)
{
	t->held_alternate = t->sp;
	if (t->unsure)
		t->held = f;
	else
		us_track_link_push(t, f, t->sp);
}

/* Code without names is executed, but no call, jump or return led there: an interrupt
 * or a trap did, for example into firmware, which has a stack of its own. */
static void arrive_unnamed(struct us_tracker *t, bool switches)
{
	struct us_track_frame *x = top(t);
	uint8_t next = t->next;
	bool trap = next == US_NEXT_TRAP;
	if (!x || x->function == &us_track_unnamed || next == US_NEXT_SWITCHED ||
	    (next == US_NEXT_CALL && !switches))
		return;
	if (next == US_NEXT_JUMP && t->function == &us_track_unnamed) {
		us_track_move_on(t, x, &us_track_unnamed, false);
		return;
	}
	t->vcpu->interrupts += !trap;
	us_track_enter_kernel(t, &us_track_unnamed,
			      trap ? t->vcpu->node : us_track_interrupts_node(t), !trap,
			      trap);
}

void us_track_link_settle(struct us_tracker *t, const struct us_track_function *in,
			  bool switches)
{
	if (t->held)
		us_track_link_place(t);
	if (t->next == US_NEXT_LEAVE)
		us_track_settle_next(t);
	if (in == &us_track_unnamed)
		arrive_unnamed(t, switches);
	if (t->next != US_NEXT_NOTHING)
		us_track_settle_next(t);
	if (t->held)
		us_track_link_place(t);
}

/* ---- When an address shows the stack ---- */

/* The most frames to pass over that have no address, as those of code without names: a
 * frame below them may tell more. */
#define MOST_UNKNOWN 8

/* How many of the first n frames have not ended, if all below this address have, with
 * what they called? */
static uint32_t frames_from(const struct us_track_stack *s, uint32_t n, uint64_t below)
{
	uint32_t left = n;
	unsigned unknown = 0;
	while (n-- > 0) {
		const struct us_track_frame *x = &s->frame[n];
		if (x->sp >= below || (!x->sp && (x->kind == US_TRACK_INTERRUPT ||
						  ++unknown > MOST_UNKNOWN)))
			break;
		if (x->sp)
			left = n;
	}
	return left;
}

/* The vCPU came back to a stack: how many of its first n frames have not ended?  Ended
 * are the call with which the vCPU left the stack, all frames below an address, and
 * what the function `in` has called (NULL: not known). */
static uint32_t frames_left(const struct us_tracker *t, uint32_t n,
			    const struct us_track_function *in, uint64_t below)
{
	const struct us_track_frame *x = t->stack->frame;
	if (t->left && t->left != in && n && x[n - 1].function == t->left)
		n--;
	n = frames_from(t->stack, n, below);
	if (!in || in == &us_track_unnamed)
		return n;
	for (uint32_t i = n; i-- > 0 && x[i].kind != US_TRACK_INTERRUPT;)
		if (x[i].function == in)
			return i + 1;
	return n;
}

static void end_calls(struct us_tracker *t, const struct us_track_function *in,
		      uint64_t below)
{
	us_track_drop_to(t, frames_left(t, us_track_n(t->stack), in, below));
}

/* A thread has begun where the stack of another thread, which has ended, was. */
static bool has_ended(const struct us_tracker *t, const struct us_track_stack *was,
		      const struct us_track_stack *is)
{
	return is && is != was && us_track_n(was) &&
	       was->frame[0].kind == US_TRACK_BASE && was->owner == t->number &&
	       was->low > was->high && !t->entered;
}

/* The n frames on top have another caller than assumed. */
static void call_from_here(struct us_tracker *t, uint8_t n)
{
	struct us_track_stack *s = t->stack;
	for (uint32_t i = us_track_n(s) < n ? 0 : us_track_n(s) - n; i < us_track_n(s);
	     i++) {
		struct us_track_frame *x = &s->frame[i];
		if (x->kind != US_TRACK_CALL)
			continue;
		t->tree.node[x->node].calls--;
		x->node = node_below(t, i ? x[-1].node : 0, x->function);
		t->tree.node[x->node].calls++;
	}
	go_on(t);
}

static struct us_track_stack *stack_aside(struct us_tracker *t)
{
	struct us_track_stack *s = t->aside;
	if (s && !us_track_n(s) && s->owner == t->number && s->low > s->high &&
	    s != t->stack)
		return s;
	t->aside = us_track_stacks_take(t->stacks, US_TRACK_ANYWHERE, t->number);
	t->aside->high = 0;
	t->aside->used = UINT64_MAX; /* so that nobody else takes it */
	return t->aside;
}

/* The n frames on top of a stack move to another, the last one first, so their order is
 * reversed. */
static void bring_all(struct us_tracker *t, struct us_track_stack *from,
		      struct us_track_stack *to, uint8_t n)
{
	t->stack = to;
	for (uint8_t i = 0; i < n; i++)
		us_track_bring_entered(t, from);
}

static void bring_in_order(struct us_tracker *t, struct us_track_stack *from,
			   struct us_track_stack *to, uint8_t n)
{
	struct us_track_stack *aside = stack_aside(t);
	bring_all(t, from, aside, n);
	bring_all(t, aside, to, n);
}

/* Are none of the frames from first to end traced? */
static bool are_untraced(const struct us_track_stack *s, uint32_t first, uint32_t end)
{
	while (first < end && !s->frame[first].traced)
		first++;
	return first == end;
}

/* Drop ended frames below the n frames on top, which have not ended.  A reader of the
 * trace always ends the frame on top, so these are moved aside first. */
static void end_calls_below(struct us_tracker *t, const struct us_track_function *in,
			    uint64_t below, uint8_t n)
{
	struct us_track_stack *s = t->stack;
	uint32_t all = us_track_n(s), end = all < n ? 0 : all - n;
	uint32_t keep = frames_left(t, end, in, below);
	if (keep < end && are_untraced(s, keep, end)) {
		for (uint32_t i = end; i < all; i++)
			s->frame[keep + i - end] = s->frame[i];
		us_track_set_top(s, &s->frame[keep + all - end - 1]);
	} else if (keep < end) {
		struct us_track_stack *aside = stack_aside(t);
		bring_all(t, s, aside, n);
		t->stack = s;
		us_track_drop_to(t, keep);
		bring_all(t, aside, s, n);
	}
	call_from_here(t, n);
}

/* Was the first of the frames that will move to the stack called from there? */
static bool called_there(const struct us_track_stack *s, uint8_t n)
{
	uint32_t all = us_track_n(s);
	return all >= n && s->frame[all - n].kind == US_TRACK_CALL;
}

/* An interrupt's function, in frame n of its stack, from 1, goes on here, on a stack
 * for interrupts: it is called by what it calls here, and left behind on the other one.
 */
static void handle_here(struct us_tracker *t, const struct us_track_stack *was,
			uint32_t n, const struct us_track_function *in)
{
	const struct us_track_frame *x = &was->frame[n - 1];
	struct us_track_frame *base = top(t);
	if (x->kind != US_TRACK_INTERRUPT || x->trap || x->function != in)
		return;
	if (base && (base->kind != US_TRACK_BASE || base->function != in))
		return;
	if (base) {
		base->node = child(t, us_track_interrupts_node(t), in);
	} else {
		base = us_track_push(t, us_track_interrupts_node(t), in,
				     US_TRACK_ANYWHERE, US_TRACK_BASE);
		if (!base)
			return;
		us_track_note_found(t);
	}
	base->handles = true;
}

/* Find the stack with this address, on which the function `in` runs.  False: none is
 * known. */
static bool resolve(struct us_tracker *t, const struct us_track_function *in,
		    uint64_t sp, uint64_t below)
{
	struct us_track_stack *was = t->stack;
	const struct us_track_memory m = us_track_memory_of(t, sp);
	struct us_track_stack *is = us_track_stacks_find(t->stacks, was, sp, &m,
							 t->number);
	if (has_ended(t, was, is)) {
		us_track_end_stack(t, is);
		is = NULL;
	}
	bool boot = !is && was->owner == t->number && was->low > was->high;
	bool same = is == was || boot;
	uint8_t entered = t->entered;
	if (entered)
		below = sp + 1;
	if (entered)
		in = called_there(was, entered) ? t->entered_by : NULL;
	t->entered = 0;
	t->unsure = false;
	if (!same) {
		t->vcpu->switches++;
		t->stack = is ? is : us_track_stacks_take(t->stacks, sp, t->number);
		us_track_move_here(t, t->stack, 0);
	}
	us_track_stack_learn(t->stack, sp, &m);
	if (!same || !entered)
		end_calls(t, in, below);
	else if (in)
		end_calls_below(t, in, below, entered);
	if (!same && in && us_track_n(was) > entered)
		handle_here(t, was, us_track_n(was) - entered, in);
	if (!same && entered) {
		if (entered == 1)
			us_track_bring_entered(t, was);
		else
			bring_in_order(t, was, t->stack, entered);
		call_from_here(t, entered);
	}
	t->left = NULL;
	t->held_by = &us_track_unnamed;
	return is || boot;
}

/* Make sure that the frame on top is the function's. */
static void resync(struct us_tracker *t, const struct us_track_function *in)
{
	struct us_track_frame *x = top(t);
	while (x && in != &us_track_unnamed && x->function == &us_track_unnamed &&
	       x->kind == US_TRACK_INTERRUPT && x > t->stack->frame) {
		us_track_drop_to(t, us_track_n(t->stack) - 1);
		x = top(t);
	}
	us_track_upcalls_end(t, in);
	x = top(t);
	if (!x && us_track_push_base(t, in, US_TRACK_ANYWHERE)) {
		us_track_note_found(t);
	} else if (x && x->function != in && in != &us_track_unnamed) {
		t->vcpu->resyncs++;
		us_track_move_on(t, x, in, false);
	}
	go_on(t);
}

/* ---- Calls ---- */

static void hold(struct us_tracker *t, const struct us_track_site *s)
{
	t->held_by = s->in;
	t->held_at = *t->insns;
	if (s->local)
		return;
	if (!s->target) {
		expect(t, US_NEXT_CALL, NULL);
		t->sp = s->alternate;
		return;
	}
	t->held = s->target;
	t->held_alternate = s->alternate;
	if (s->target->has_entry)
		expect(t, US_NEXT_ENTRY, s->target);
}

void us_track_link_call(struct us_tracker *t, const struct us_track_site *s)
{
	own_stack(t);
	if (!top_of(t, s->in)) {
		us_track_link_settle(t, s->in, false);
		t->foreign = false;
		if (t->unsure) {
			hold(t, s);
			return;
		}
		if (!t->stack->over)
			resync(t, s->in);
	}
	t->foreign = false;
	charge(t, *t->insns);
	if (s->local) {
		push_local(t);
	} else if (s->target) {
		us_track_link_push(t, s->target, s->alternate);
		if (s->target->has_entry)
			expect(t, US_NEXT_ENTRY, s->target);
	} else {
		expect(t, US_NEXT_CALL, NULL);
		t->sp = s->alternate;
	}
}

/* ---- Stores and loads of the register ---- */

/* Frames lie below those of their callers. */
static inline bool is_in_order(const struct us_track_stack *s, uint64_t sp)
{
	uint32_t n = us_track_n(s);
	return n < 2 || sp < s->frame[n - 2].sp ||
	       frames_from(s, n - 1, sp + 1) == n - 1;
}

static void save(struct us_tracker *t, struct us_track_frame *x, uint64_t sp)
{
	x->sp = sp;
	x->foreign = t->foreign;
	reached(t->stack, sp);
}

/* The function that was called while the stack was not known is on this stack. */
static void save_held(struct us_tracker *t, uint64_t sp)
{
	const struct us_track_function *f = t->held, *by = t->held_by;
	t->held = NULL;
	resolve(t, by, sp, sp + 1);
	resync(t, by);
	charge_until(t, t->held_at);
	us_track_link_push(t, f, t->held_alternate);
	struct us_track_frame *x = last(t->stack);
	if (!t->stack->over)
		save(t, x - (t->held_alternate && x > t->stack->frame), sp);
}

/* End callers that ended through a jump that was not seen; the frame on top has not
 * ended. */
static void end_callers(struct us_tracker *t, uint64_t sp)
{
	struct us_track_stack *s = t->stack;
	const struct us_track_frame x = *last(s);
	uint32_t n = us_track_n(s);
	us_track_drop_to(t, frames_from(s, n ? n - 1 : 0, sp + 1));
	const struct us_track_frame *caller = top(t);
	if (us_track_push(t, caller ? caller->node : 0, x.function, sp,
			  (enum us_track_kind)x.kind))
		us_track_note_found(t);
}

static void saved_slowly(struct us_tracker *t, const struct us_track_site *s,
			 uint64_t sp)
{
	if (t->next == US_NEXT_CALL)
		us_track_settle_next(t);
	if (t->held && t->held == s->in) {
		save_held(t, sp);
		return;
	}
	us_track_link_settle(t, s->in, false);
	if (t->stack->over)
		return;
	if (t->unsure)
		resolve(t, s->in, sp, sp);
	resync(t, s->in);
	const struct us_track_frame *x = top(t);
	/* The function on top was called to store the register for its caller. */
	bool callers = x && x->alternate && x > t->stack->frame;
	if (x && !callers && x->kind == US_TRACK_CALL && !is_in_order(t->stack, sp))
		end_callers(t, sp);
	struct us_track_frame *now = last(t->stack);
	if (now >= t->stack->frame)
		save(t, now - (callers && now > t->stack->frame), sp);
	charge(t, *t->insns);
}

void us_track_link_saved(struct us_tracker *t, const struct us_track_site *s,
			 uint64_t sp)
{
	own_stack(t);
	struct us_track_frame *x = top_of(t, s->in);
	if (x && !x->alternate && is_in_order(t->stack, sp))
		save(t, x, sp);
	else
		saved_slowly(t, s, sp);
}

/* The frame whose register was stored there: its number, from 1; 0: none. */
static uint32_t frame_at(const struct us_track_stack *s, uint64_t sp)
{
	for (uint32_t n = us_track_n(s); n; n--) {
		if (s->frame[n - 1].sp == sp)
			return n;
		if (s->frame[n - 1].sp > sp)
			return 0;
	}
	return 0;
}

/* The frame for this address, perhaps on another stack than assumed, whether a load of
 * the stack pointer was seen or not. */
static uint32_t find_frame(struct us_tracker *t, uint64_t sp)
{
	const struct us_track_stack *was = t->stack, *is = was;
	bool elsewhere = t->unsure && !t->entered;
	if (!t->unsure && (sp < was->low || sp > was->high)) {
		const struct us_track_memory m = us_track_memory_of(t, sp);
		is = us_track_stacks_find(t->stacks, t->stack, sp, &m, t->number);
	}
	if (!t->unsure && (!is || is == was))
		return frame_at(was, sp);
	bool known = resolve(t, NULL, sp, sp);
	uint32_t n = frame_at(t->stack, sp);
	/* What is known about this memory belongs to another thread. */
	if (!n && known && elsewhere)
		us_track_take_stack(t, sp);
	return n;
}

static void loaded_slowly(struct us_tracker *t, const struct us_track_site *s,
			  uint64_t sp)
{
	us_track_link_settle(t, s->in, false);
	struct us_track_frame *x = top(t);
	if (!s->by_stack) {
		t->foreign = t->unsure || !x || x->sp != sp || x->foreign;
		return;
	}
	bool elsewhere = t->unsure && !t->entered;
	uint32_t n = find_frame(t, sp);
	if (n) {
		us_track_drop_to(t, n);
		t->stack->over = 0;
		t->foreign = t->stack->frame[n - 1].foreign;
		go_on(t);
		charge(t, *t->insns);
		return;
	}
	x = top(t);
	bool missed = !elsewhere && x && x->function == s->in && !x->sp;
	t->foreign = !missed || x->kind == US_TRACK_INTERRUPT;
	if (missed)
		x->sp = sp;
}

void us_track_link_loaded(struct us_tracker *t, const struct us_track_site *s,
			  uint64_t sp)
{
	own_stack(t);
	const struct us_track_frame *x = top_of(t, s->in);
	if (x && x->sp == sp)
		t->foreign = x->foreign;
	else
		loaded_slowly(t, s, sp);
}

void us_track_link_set(struct us_tracker *t, const struct us_track_site *s)
{
	(void)s;
	t->foreign = true;
}

/* ---- Returns ---- */

void us_track_link_leave(struct us_tracker *t)
{
	pop(t);
	if (!t->unsure)
		return;
	if (t->entered)
		t->entered--;
	t->vcpu->node = likely_node(t);
}

/* What comes next shows the target of this return: the first function of a thread, or a
 * frame on the real stack, which this frame is not on. */
static void return_to_unknown(struct us_tracker *t)
{
	const struct us_track_frame *x = top(t);
	if (t->entered && x && x->kind == US_TRACK_CALL) {
		if (t->foreign)
			expect(t, US_NEXT_LEAVE, NULL);
		else
			us_track_link_leave(t);
		return;
	}
	if (!t->left && x)
		t->left = x->function;
	t->held_by = &us_track_unnamed;
	t->vcpu->node = likely_node(t);
	expect(t, US_NEXT_SWITCHED, NULL);
}

static void return_slowly(struct us_tracker *t, const struct us_track_site *s)
{
	us_track_link_settle(t, s->in, false);
	const struct us_track_frame *x = top(t);
	charge(t, *t->insns);
	if (x && x->upcall && !s->alternate)
		us_track_upcall_ends(t);
	else if (s->alternate ? !x || !x->alternate
			      : x && x->kind == US_TRACK_INTERRUPT) {
		expect(t, US_NEXT_JUMP, NULL);
	} else if (t->unsure) {
		return_to_unknown(t);
	} else if (!x) {
		t->vcpu->unmatched++;
		us_track_begin_stack(t, US_TRACK_ANYWHERE);
	} else if (t->stack->over) {
		t->stack->over--;
	} else if (t->foreign && !s->alternate) {
		t->vcpu->node = x > t->stack->frame ? x[-1].node : 0;
		expect(t, US_NEXT_LEAVE, NULL);
	} else {
		pop(t);
	}
	t->foreign = false;
}

void us_track_link_return(struct us_tracker *t, const struct us_track_site *s)
{
	own_stack(t);
	const struct us_track_frame *x = top_of(t, s->in);
	if (!x || x->kind == US_TRACK_INTERRUPT || t->foreign || s->alternate) {
		return_slowly(t, s);
		return;
	}
	charge(t, *t->insns);
	pop(t);
}
