/* SPDX-License-Identifier: GPL-2.0-or-later */
/* track.c: calls, returns and jumps; see track.h. */
#include "trace/track_fast.h"

struct us_track_function us_track_unnamed = { .address = US_COUNTS_UNNAMED,
					      .number = US_COUNTS_UNNAMED };

int us_tracker_init(struct us_tracker *t, struct us_track_stacks *stacks,
		    uint16_t number, struct us_counts_vcpu *vcpu,
		    struct us_counts_node *node, uint32_t n_node, const uint64_t *insns)
{
	*t = (struct us_tracker){ .vcpu = vcpu,
				  .stacks = stacks,
				  .insns = insns,
				  .held_by = &us_track_unnamed,
				  .resumed_at = UINT64_MAX,
				  .interrupted_at = UINT64_MAX,
				  .number = number };
	t->stack = us_track_stacks_take(stacks, US_TRACK_ANYWHERE, number);
	t->stack->high = 0; /* not known yet */
	return us_tree_init(&t->tree, vcpu, node, n_node);
}

void us_tracker_fini(struct us_tracker *t)
{
	us_tree_fini(&t->tree);
}

static struct us_track_mode mode_of(const struct us_tracker *t)
{
	return (struct us_track_mode){ .traced = t->events };
}

/* Before a call from this function at sp: make sure that the frame on top is the
 * function's. */
static void resync(struct us_tracker *t, const struct us_track_function *in,
		   uint64_t sp)
{
	if (t->unsure)
		us_track_find_stack(t, sp);
	us_track_pop_below(t, sp + 1);
	us_track_upcalls_end(t, in);
	struct us_track_frame *f = top(t);
	if (!f && us_track_push_base(t, in, US_TRACK_ANYWHERE))
		us_track_note_found(t);
	else if (f && f->function != in && in != &us_track_unnamed) {
		t->vcpu->resyncs++;
		us_track_move_on(t, f, in, false);
	}
	go_on(t);
}

static void call_slowly(struct us_tracker *t, const struct us_track_site *s,
			uint64_t sp)
{
	own_stack(t);
	t->moved = false;
	settle(t, s->in);
	const struct us_track_frame *f = top(t);
	if (t->unsure || !f || sp >= f->sp ||
	    (f->function != s->in && s->in != &us_track_unnamed))
		resync(t, s->in, sp);
	charge(t, *t->insns);
	if (!s->target) {
		/* An interrupt may come first, on a stack of its own: by its addresses
		 * this one is found again. */
		if (t->stack->low > t->stack->high)
			reach(t->stack, sp);
		expect(t, US_NEXT_CALL, NULL);
		t->sp = sp;
		return;
	}
	push_call(t, s->target, sp);
	if (s->target->has_entry)
		expect(t, US_NEXT_ENTRY, s->target);
}

void us_track_call(struct us_tracker *t, const struct us_track_site *s, uint64_t sp)
{
	if (!us_track_call_fast(t, t->vcpu, s, sp, mode_of(t)))
		call_slowly(t, s, sp);
}

/* After a load of the stack pointer, a return to a place that no call came from: a
 * thread begins on memory that was another's.  Or the frame on top goes on, at an
 * address that it has pushed, in the known part of the stack: a handler of exceptions,
 * or where a thread continues.  What is executed next tells. */
static void return_to_pushed(struct us_tracker *t, bool known, uint64_t sp,
			     unsigned word)
{
	if (known && top(t) && sp >= t->stack->low && sp <= t->stack->high) {
		expect(t, US_NEXT_SWITCHED, NULL);
		t->sp = sp + word;
		go_on(t);
		return;
	}
	if (known) /* this memory was another thread's */
		us_track_take_stack(t, sp + word);
	us_track_begin_stack(t, sp + word);
}

static void return_unexpected(struct us_tracker *t, uint64_t sp, unsigned word)
{
	bool unsure = t->unsure, known = true;
	uint32_t node = t->vcpu->node;
	if (unsure)
		known = us_track_find_stack(t, sp);
	us_track_pop_below(t, sp);
	struct us_track_frame *f = top(t);
	if (!unsure && !(f && f->sp == sp) && us_track_goes_back(t, sp))
		f = top(t);
	if (f && f->sp == sp) {
		go_on(t);
		charge(t, *t->insns);
		pop(t);
		return;
	}
	if (f && f->upcall) {
		t->vcpu->node = f->node;
		us_track_upcall_ends(t);
		return;
	}
	t->vcpu->node = node;
	charge(t, *t->insns);
	if (!unsure && t->stack->over) {
		t->stack->over--;
		return;
	}
	t->vcpu->unmatched++;
	if (unsure) {
		return_to_pushed(t, known, sp, word);
		return;
	}
	/* A return that is used as a jump.  If the next word on the stack is not the
	 * frame's own return address, it is that of a call, as in a retpoline. */
	bool call = f && f->kind == US_TRACK_CALL && f->sp > sp + word;
	expect(t, call ? US_NEXT_MAYBE : US_NEXT_JUMP, NULL);
	t->sp = sp + word;
	go_on(t);
}

static void return_slowly(struct us_tracker *t, const struct us_track_site *s,
			  uint64_t sp, unsigned word)
{
	own_stack(t);
	t->moved = false;
	t->expected = NULL;
	settle(t, s->in);
	const struct us_track_frame *f = top(t);
	if (!f || f->sp != sp) {
		return_unexpected(t, sp, word);
		return;
	}
	t->unsure = false;
	t->entered = 0;
	charge(t, *t->insns);
	pop(t);
}

void us_track_return(struct us_tracker *t, const struct us_track_site *s, uint64_t sp,
		     unsigned word)
{
	if (!us_track_return_fast(t, t->vcpu, sp, mode_of(t)))
		return_slowly(t, s, sp, word);
}

/* A trap was followed by code that is not its program's, and no function began there:
 * this is the kernel's entry, which jumps to a function.  With a link register a trap
 * may call firmware, which returns, or resets the machine. */
static bool is_entry_of_trap(const struct us_tracker *t, const struct us_track_site *s)
{
	const struct us_track_frame *f = top(t);
	return !t->link && t->next == US_NEXT_TRAP && f && f->function != s->in;
}

/* Does a call's return address lie at sp of this stack? */
static bool has_call(const struct us_track_stack *s, uint64_t sp)
{
	uint32_t n = us_track_n(s);
	while (n && s->frame[n - 1].sp < sp)
		n--;
	return n && s->frame[n - 1].sp == sp && s->frame[n - 1].kind == US_TRACK_CALL;
}

/* The function has popped its return address, and pushed it again behind cs, as code
 * does that loads a GDT: nothing of it is left on the stack.  It may also lead to
 * another function's begin. */
static bool return_popped(struct us_tracker *t, uint64_t sp)
{
	const struct us_track_frame *f = top(t);
	if (t->unsure || !f || f->kind != US_TRACK_CALL || f->sp >= sp)
		return false;
	uint64_t slot = f->sp;
	t->entered = 0;
	charge(t, *t->insns);
	pop(t);
	expect(t, US_NEXT_MAYBE, NULL);
	t->sp = slot;
	return true;
}

/* Has a call stored what is loaded from sp? */
static bool leads_to_caller(struct us_tracker *t, const struct us_track_site *s,
			    uint64_t sp)
{
	own_stack(t);
	if (!is_entry_of_trap(t, s))
		settle(t, s->in); /* the frame of a function without a name, too */
	bool back = has_call(t->stack, sp);
	if (!back && t->unsure) {
		struct us_track_memory m = us_track_memory_of(t, sp);
		const struct us_track_stack *left = us_track_stacks_left(
			t->stacks, t->stack, sp, &m);
		back = left && has_call(left, sp);
	}
	return back;
}

void us_track_far_return(struct us_tracker *t, const struct us_track_site *s,
			 uint64_t sp, unsigned word)
{
	if (leads_to_caller(t, s, sp))
		us_track_return(t, s, sp, 2 * word);
	else if (!return_popped(t, sp + 2 * word))
		us_track_jump(t, s);
}

void us_track_pop_jump(struct us_tracker *t, const struct us_track_site *s, uint64_t sp,
		       unsigned word)
{
	if (leads_to_caller(t, s, sp))
		us_track_return(t, s, sp, word);
	else
		us_track_jump(t, s);
}

void us_track_jump(struct us_tracker *t, const struct us_track_site *s)
{
	own_stack(t);
	if (is_entry_of_trap(t, s)) {
		expect(t, US_NEXT_TRAP, NULL);
		return;
	}
	settle(t, s->in);
	/* It may lead into the middle of another function, which is found out later. */
	if (!s->target)
		charge(t, *t->insns);
	expect(t, US_NEXT_JUMP, s->target);
}

void us_track_switch(struct us_tracker *t, const struct us_track_site *s, uint32_t rest)
{
	own_stack(t);
	if (t->link)
		us_track_link_settle(t, s->in, true);
	else
		settle(t, s->in);
	charge(t, *t->insns - rest);
	if (!t->unsure)
		t->held_by = &us_track_unnamed;
	t->unsure = true;
}

void us_track_settle(struct us_tracker *t)
{
	if (t->held) {
		own_stack(t);
		us_track_link_place(t);
	}
	charge(t, *t->insns);
}
