/* SPDX-License-Identifier: GPL-2.0-or-later */
/* track.c: see track.h. */
#include "trace/track.h"

#include "trace/functions.h"

#define ANYWHERE UINT64_MAX /* a base frame's address: no return ends it */

struct us_track_function us_track_unnamed = { .address = US_COUNTS_UNNAMED,
					      .number = US_COUNTS_UNNAMED };

int us_tracker_init(struct us_tracker *t, struct us_track_stacks *stacks,
		    uint16_t number, struct us_counts_vcpu *vcpu,
		    struct us_counts_node *node, uint32_t n_node, const uint64_t *insns)
{
	*t = (struct us_tracker){ .vcpu = vcpu,
				  .stacks = stacks,
				  .insns = insns,
				  .resumed_at = UINT64_MAX,
				  .interrupted_at = UINT64_MAX,
				  .number = number };
	t->stack = us_track_stacks_take(stacks, ANYWHERE, number);
	t->stack->high = 0; /* not known yet */
	return us_tree_init(&t->tree, vcpu, node, n_node);
}

void us_tracker_fini(struct us_tracker *t)
{
	us_tree_fini(&t->tree);
}

static void charge(struct us_tracker *t, uint64_t now)
{
	t->tree.node[t->vcpu->node].self += now - t->vcpu->charged;
	t->vcpu->charged = now;
}

static struct us_track_frame *top(const struct us_tracker *t)
{
	return t->stack->n ? &t->stack->frame[t->stack->n - 1] : NULL;
}

/* What is executed from now on belongs to the frame on top; without one, to what turns
 * out to be there. */
static void go_on(struct us_tracker *t)
{
	const struct us_track_frame *f = top(t);
	t->vcpu->node = f ? f->node : 0;
}

static uint32_t child(struct us_tracker *t, uint32_t parent,
		      const struct us_track_function *f)
{
	return us_tree_child(&t->tree, parent, f->number, f->address);
}

/* All code without names is one. */
static uint32_t node_below(struct us_tracker *t, uint32_t parent,
			   const struct us_track_function *f)
{
	bool same = f == &us_track_unnamed &&
		    t->tree.node[parent].function == f->number;
	return same ? parent : child(t, parent, f);
}

/* Above all that interrupts and faults enter. */
static uint32_t interrupts_node(struct us_tracker *t)
{
	static const struct us_track_function all = { .address = US_COUNTS_INTERRUPTS,
						      .number = US_COUNTS_INTERRUPTS };
	return child(t, 0, &all);
}

/* ---- What is written down of it ---- */

/* The vCPU is on another stack than before, or one of which the reader knows nothing:
 * of that the first n frames are open. */
static void note_stack(struct us_tracker *t, uint32_t epoch, uint32_t n)
{
	struct us_track_stack *s = t->stack;
	uint64_t now = t->vcpu->charged;
	bool known = s->epoch == epoch;
	us_events_put(t->events, US_EVENT_STACK,
		      s->number | (known ? 0 : US_EVENT_FORGET), now);
	t->events->stack = s;
	s->epoch = epoch;
	for (uint32_t i = 0; i < n && !known; i++)
		if (s->frame[i].traced)
			us_events_put(t->events, US_EVENT_OPEN,
				      s->frame[i].function->number, now);
}

/* Have written down where the vCPU is, with the first n frames.  False: it is off. */
static bool note_place(struct us_tracker *t, uint32_t n)
{
	uint32_t epoch = us_events_epoch(t->events);
	if (epoch && (t->events->stack != t->stack || t->stack->epoch != epoch))
		note_stack(t, epoch, n);
	return epoch;
}

/* n: frames that were there before. */
static void note(struct us_tracker *t, enum us_event_kind kind, uint32_t number,
		 uint32_t n)
{
	if (note_place(t, n))
		us_events_put(t->events, kind, number, t->vcpu->charged);
}

static const struct us_track_frame *last_frame(const struct us_tracker *t)
{
	return &t->stack->frame[t->stack->n - 1];
}

/* The frame on top. */
static void note_entry(struct us_tracker *t, enum us_event_kind kind)
{
	const struct us_track_frame *x = last_frame(t);
	uint8_t choice = x->function->choice;
	if (!t->events)
		return;
	if (choice & US_FUNCTION_FROM)
		us_events_switch(t->events->head, true);
	if (x->traced)
		note(t, kind, x->function->number, t->stack->n - 1);
	if (choice & US_FUNCTION_UNTIL)
		us_events_switch(t->events->head, false);
}

/* The frame on top ends. */
static void note_exit(struct us_tracker *t)
{
	const struct us_track_frame *x = last_frame(t);
	if (x->traced)
		note(t, US_EVENT_EXIT, x->function->number, t->stack->n);
}

/* Is a function written down that was entered by one at this depth? */
static bool is_traced(const struct us_tracker *t, const struct us_track_function *f,
		      uint32_t depth)
{
	return t->events && f->choice & US_FUNCTION_TRACED &&
	       depth < t->events->max_depth;
}

/* The frame on top is there, nobody knows since when. */
static void note_found(struct us_tracker *t)
{
	const struct us_track_frame *x = last_frame(t);
	if (x->traced)
		note(t, US_EVENT_OPEN, x->function->number, t->stack->n - 1);
}

static void drop_to(struct us_tracker *t, uint32_t n)
{
	while (t->stack->n > n) {
		note_exit(t);
		t->stack->n--;
	}
}

#define MAX_UNDER 4 /* stacks, each under the next: programs, kernels, interrupts */

/* Below what a frame hangs in this vCPU's tree. */
static uint32_t parent_of(struct us_tracker *t, const struct us_track_stack *s,
			  uint32_t i)
{
	const struct us_track_frame *f = &s->frame[i];
	const struct us_track_stack *under = &t->stacks->v[f->under];
	if (f->kind == US_TRACK_INTERRUPT && !f->trap)
		return interrupts_node(t);
	if (f->kind == US_TRACK_INTERRUPT && under != s)
		return under->n && under->tree_of == t->number
			       ? under->frame[under->n - 1].node
			       : 0;
	return i && f->kind != US_TRACK_BASE ? s->frame[i - 1].node : 0;
}

#define MOVING UINT16_MAX /* no vCPU's: a guest may have made a ring of stacks */

/* A stack came from another vCPU, which has a tree of its own. */
static void move_here(struct us_tracker *t, struct us_track_stack *s, unsigned depth)
{
	if (s->tree_of == t->number || s->tree_of == MOVING)
		return;
	s->tree_of = MOVING;
	for (uint32_t i = 0; i < s->n; i++) {
		struct us_track_frame *f = &s->frame[i];
		struct us_track_stack *under = &t->stacks->v[f->under];
		if (f->kind == US_TRACK_INTERRUPT && under != s && depth < MAX_UNDER)
			move_here(t, under, depth + 1);
		f->node = node_below(t, parent_of(t, s, i), f->function);
	}
	s->tree_of = t->number;
}

/* A frame on top, below parent in the tree.  NULL: there is no room. */
static struct us_track_frame *push(struct us_tracker *t, uint32_t parent,
				   const struct us_track_function *f, uint64_t sp,
				   enum us_track_kind kind)
{
	struct us_track_stack *s = t->stack;
	if (s->n == US_TRACK_DEPTH) {
		s->over++;
		t->vcpu->too_deep++;
		return NULL;
	}
	uint16_t depth = s->n ? s->frame[s->n - 1].depth : 0;
	struct us_track_frame *x = &s->frame[s->n++];
	x->sp = sp;
	x->traced = is_traced(t, f, depth);
	x->depth = depth + x->traced;
	x->node = node_below(t, parent, f);
	x->function = f;
	x->kind = (uint8_t)kind;
	x->trap = false;
	t->vcpu->node = x->node;
	return x;
}

/* The frame on top was entered just now. */
static void enter_node(struct us_tracker *t, enum us_event_kind kind)
{
	t->tree.node[t->vcpu->node].calls++;
	t->vcpu->calls++;
	note_entry(t, kind);
}

static void push_call(struct us_tracker *t, const struct us_track_function *f,
		      uint64_t sp)
{
	const struct us_track_frame *caller = top(t);
	struct us_track_stack *s = t->stack;
	if (sp < s->low)
		s->low = sp;
	if (sp > s->high)
		s->high = sp;
	if (push(t, caller ? caller->node : 0, f, sp, US_TRACK_CALL))
		enter_node(t, US_EVENT_ENTER);
}

static bool push_base(struct us_tracker *t, const struct us_track_function *f,
		      uint64_t sp)
{
	return push(t, 0, f, sp, US_TRACK_BASE);
}

/* The frame on top goes on in another function: by a jump, or as nobody knows. */
static void move_on(struct us_tracker *t, struct us_track_frame *x,
		    const struct us_track_function *f, bool jump)
{
	bool was = x->traced, is = is_traced(t, f, x->depth - was);
	if (was && jump && is)
		note_place(t, t->stack->n);
	else if (was)
		note_exit(t);
	x->traced = is;
	x->depth = x->depth - was + is;
	if (is && !jump)
		note(t, US_EVENT_OPEN, f->number, t->stack->n - 1);
	x->node = child(t, t->tree.node[x->node].parent, f);
	x->function = f;
	t->vcpu->node = x->node;
}

/* What is executed next was said just now. */
static void expect(struct us_tracker *t, enum us_track_next next,
		   struct us_track_function *f)
{
	t->next = (uint8_t)next;
	t->function = f;
	t->at = *t->insns;
	t->interrupted_at = UINT64_MAX;
}

/* A call or trap whose target has shown no entry: it is code without names. */
static void settle_next(struct us_tracker *t)
{
	uint8_t next = t->next;
	t->next = US_NEXT_NOTHING;
	if (next == US_NEXT_CALL)
		push_call(t, &us_track_unnamed, t->sp);
}

/* What is on top of that stack goes on on this one. */
static void note_moved(struct us_tracker *t, const struct us_track_stack *from,
		       uint32_t function)
{
	if (from->epoch == us_events_epoch(t->events))
		note(t, US_EVENT_STACK, from->number | US_EVENT_MOVED, t->stack->n);
	else
		note(t, US_EVENT_OPEN, function, t->stack->n);
}

/* The interrupt's frame goes to the stack that it turned out to have. */
static void bring_entered(struct us_tracker *t, struct us_track_stack *from)
{
	struct us_track_frame *f = from->n ? &from->frame[from->n - 1] : NULL;
	struct us_track_stack *to = t->stack;
	if (!f || f->kind != US_TRACK_INTERRUPT || to->n == US_TRACK_DEPTH)
		return;
	struct us_track_frame *x = &to->frame[to->n];
	if (f->traced)
		note_moved(t, from, f->function->number);
	*x = *f;
	x->sp = to->n ? to->frame[to->n - 1].sp - 1 : ANYWHERE;
	to->n++;
	from->n--;
}

/* The stack pointer had been loaded with a place farther up on the same stack when the
 * interrupt came: its frame is there.  What has ended by that is seen after it. */
static void keep_entered(struct us_tracker *t, uint64_t sp)
{
	struct us_track_frame *f = top(t);
	if (f && f->kind == US_TRACK_INTERRUPT && f->sp <= sp)
		f->sp = sp + 1;
}

static void pop_below(struct us_tracker *t, uint64_t sp)
{
	struct us_track_stack *s = t->stack;
	while (s->n && s->frame[s->n - 1].sp < sp) {
		note_exit(t);
		s->n--;
	}
}

/* It may be another stack: the address tells.  False: one that nobody knows. */
static bool find_stack(struct us_tracker *t, uint64_t sp)
{
	struct us_track_stack *was = t->stack;
	struct us_track_stack *is = us_track_stacks_find(t->stacks, was, sp, t->number);
	bool entered = t->entered;
	t->entered = false;
	t->unsure = false;
	/* A boot stack has no addresses before its first call. */
	bool boot = !is && was->owner == t->number && was->low > was->high;
	if (is == was || boot) {
		if (entered)
			keep_entered(t, sp);
		return true;
	}
	t->vcpu->switches++;
	t->stack = is ? is : us_track_stacks_take(t->stacks, sp, t->number);
	move_here(t, t->stack, 0);
	if (is)
		pop_below(t, sp);
	if (entered)
		bring_entered(t, was);
	return is;
}

/* Before a call from this function at sp: the frame on top has to be the function's. */
static void resync(struct us_tracker *t, const struct us_track_function *in,
		   uint64_t sp)
{
	if (t->unsure)
		find_stack(t, sp);
	pop_below(t, sp + 1);
	struct us_track_frame *f = top(t);
	if (!f && push_base(t, in, ANYWHERE))
		note_found(t);
	else if (f && f->function != in && in != &us_track_unnamed) {
		t->vcpu->resyncs++;
		move_on(t, f, in, false);
	}
	go_on(t);
}

/* Another vCPU has gone on with the stack: this one is on one that it will tell. */
static void leave_stack(struct us_tracker *t)
{
	t->stack = us_track_stacks_take(t->stacks, ANYWHERE, t->number);
	t->stack->high = 0; /* not known yet */
	t->unsure = true;
	t->entered = false;
}

static inline void own_stack(struct us_tracker *t)
{
	if (__builtin_expect(t->stack->tree_of != t->number, false))
		leave_stack(t);
}

void us_track_call(struct us_tracker *t, const struct us_track_site *s, uint64_t sp)
{
	own_stack(t);
	if (t->next != US_NEXT_NOTHING)
		settle_next(t);
	const struct us_track_frame *f = top(t);
	if (t->unsure || !f || sp >= f->sp ||
	    (f->function != s->in && s->in != &us_track_unnamed))
		resync(t, s->in, sp);
	charge(t, *t->insns);
	if (!s->target) {
		expect(t, US_NEXT_CALL, NULL);
		t->sp = sp;
		return;
	}
	push_call(t, s->target, sp);
	if (s->target->has_entry)
		expect(t, US_NEXT_ENTRY, s->target);
}

static void pop(struct us_tracker *t)
{
	note_exit(t);
	t->stack->n--;
	t->vcpu->returns++;
	go_on(t);
}

static void take_stack(struct us_tracker *t, uint64_t sp)
{
	t->stack = us_track_stacks_take(t->stacks, sp, t->number);
	t->vcpu->switches++;
}

/* A thread that begins: what is entered now has a stack of its own. */
static void begin_stack(struct us_tracker *t, uint64_t sp)
{
	expect(t, US_NEXT_ROOT, NULL);
	t->sp = sp;
	t->vcpu->node = 0;
}

static void return_slowly(struct us_tracker *t, uint64_t sp, unsigned word)
{
	bool unsure = t->unsure, known = true;
	uint32_t node = t->vcpu->node;
	if (unsure)
		known = find_stack(t, sp);
	pop_below(t, sp);
	struct us_track_frame *f = top(t);
	if (f && f->sp == sp) {
		go_on(t);
		charge(t, *t->insns);
		pop(t);
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
		if (known) /* what is known of this memory is of another thread */
			take_stack(t, sp + word);
		begin_stack(t, sp + word);
		return;
	}
	/* A jump by means of a return. */
	expect(t, US_NEXT_JUMP, NULL);
	go_on(t);
}

void us_track_return(struct us_tracker *t, const struct us_track_site *s, uint64_t sp,
		     unsigned word)
{
	(void)s;
	own_stack(t);
	if (t->next != US_NEXT_NOTHING)
		settle_next(t);
	const struct us_track_frame *f = top(t);
	if (!f || f->sp != sp) {
		return_slowly(t, sp, word);
		return;
	}
	t->unsure = t->entered = false;
	charge(t, *t->insns);
	pop(t);
}

/* ---- Functions that are entered ---- */

static void save_next(struct us_tracker *t, struct us_track_frame *x, bool save)
{
	x->saved_next = save ? t->next : US_NEXT_NOTHING;
	x->saved = t->function;
	x->saved_sp = t->sp;
	x->saved_unsure = t->unsure;
}

/* By an interrupt, a fault or a trap, which may have changed the stack. */
static void enter_kernel(struct us_tracker *t, const struct us_track_function *f,
			 uint32_t parent, bool save, bool trap)
{
	const struct us_track_frame *under = top(t);
	uint16_t number = t->stack->number;
	struct us_track_frame *x = push(t, parent, f, under ? under->sp - 1 : ANYWHERE,
					US_TRACK_INTERRUPT);
	if (x) {
		x->under = number;
		x->trap = trap;
		save_next(t, x, save);
		enter_node(t, US_EVENT_INTERRUPT);
	}
	t->next = US_NEXT_NOTHING;
	t->unsure = t->entered = true;
}

/* However little is traced, it is seen for how long the vCPU waited. */
static void wake(struct us_tracker *t)
{
	uint32_t epoch = t->events ? us_events_epoch(t->events) : 0;
	if (epoch && t->events->halted)
		note_stack(t, epoch, t->stack->n);
}

static void interrupt(struct us_tracker *t, struct us_track_function *f, bool save)
{
	if (!save)
		settle_next(t);
	f->by_interrupt = true;
	t->vcpu->interrupts++;
	wake(t);
	enter_kernel(t, f, interrupts_node(t), save, false);
}

static void jump_to(struct us_tracker *t, struct us_track_function *f)
{
	struct us_track_frame *x = top(t);
	t->next = US_NEXT_NOTHING;
	if (x && x->function == f)
		return; /* a loop */
	if (x) {
		bool was = x->traced;
		move_on(t, x, f, true);
		enter_node(t, was ? US_EVENT_JUMP : US_EVENT_ENTER);
	} else if (push_base(t, f, ANYWHERE)) {
		enter_node(t, US_EVENT_ENTER);
	}
}

/* As it was said just before.  False: something else came between. */
static bool enter_next(struct us_tracker *t, struct us_track_function *f)
{
	switch ((enum us_track_next)t->next) {
	case US_NEXT_CALL:
		if (f->by_interrupt)
			return false;
		t->next = US_NEXT_NOTHING;
		push_call(t, f, t->sp);
		return true;
	case US_NEXT_JUMP:
		if (t->function ? t->function != f : f->by_interrupt)
			return false;
		jump_to(t, f);
		return true;
	case US_NEXT_TRAP:
		enter_kernel(t, f, t->vcpu->node, false, true);
		return true;
	case US_NEXT_ROOT:
		if (f->by_interrupt)
			return false;
		t->next = US_NEXT_NOTHING;
		if (push_base(t, f, t->sp))
			enter_node(t, US_EVENT_ENTER);
		return true;
	default:
		return false;
	}
}

void us_track_enter(struct us_tracker *t, const struct us_track_entry *e)
{
	struct us_track_function *f = e->function;
	if (t->next == US_NEXT_ENTRY && t->function == f) {
		t->next = US_NEXT_NOTHING;
		return;
	}
	own_stack(t);
	const struct us_track_frame *x = top(t);
	uint64_t begin = *t->insns - e->n_insn;
	charge(t, begin + e->n_before);
	if (e->n_before) {
		settle_next(t);
		jump_to(t, f);
		return;
	}
	bool just_now = t->at == begin;
	if (just_now && t->interrupted_at != begin && enter_next(t, f))
		return;
	if (t->resumed_at == begin && x && x->function == f)
		return; /* once more, from its start */
	interrupt(t, f, just_now || t->next == US_NEXT_ENTRY);
}

void us_track_jump(struct us_tracker *t, const struct us_track_site *s)
{
	own_stack(t);
	if (t->next != US_NEXT_NOTHING)
		settle_next(t);
	expect(t, US_NEXT_JUMP, s->target);
}

void us_track_switch(struct us_tracker *t, uint32_t rest)
{
	own_stack(t);
	if (t->next != US_NEXT_NOTHING)
		settle_next(t);
	charge(t, *t->insns - rest);
	t->unsure = true;
}

void us_track_trap(struct us_tracker *t)
{
	own_stack(t);
	if (t->next != US_NEXT_NOTHING)
		settle_next(t);
	charge(t, *t->insns);
	expect(t, US_NEXT_TRAP, NULL);
}

/* ---- And left ---- */

static struct us_track_frame *innermost_interrupt(const struct us_track_stack *s)
{
	for (uint32_t i = s->n; i-- > 0;)
		if (s->frame[i].kind == US_TRACK_INTERRUPT)
			return &s->frame[i];
	return NULL;
}

/* Something is entered that nobody came from: a thread, a program. */
static void leave_for_new(struct us_tracker *t)
{
	take_stack(t, ANYWHERE);
	begin_stack(t, ANYWHERE);
	t->stack->high = 0; /* not known yet */
	t->unsure = true;
}

void us_track_iret(struct us_tracker *t, const struct us_track_site *s, uint64_t sp)
{
	own_stack(t);
	if (t->next != US_NEXT_NOTHING)
		settle_next(t);
	if (t->unsure && sp)
		find_stack(t, sp);
	const struct us_track_frame *f = innermost_interrupt(t->stack);
	if (!f && s->in == &us_track_unnamed)
		return;
	uint64_t now = *t->insns;
	charge(t, now);
	t->entered = false;
	if (!f) {
		leave_for_new(t);
		return;
	}
	uint32_t n = (uint32_t)(f - t->stack->frame);
	drop_to(t, n);
	expect(t, f->saved_next, f->saved);
	t->sp = f->saved_sp;
	t->unsure = f->saved_unsure;
	t->resumed_at = now;
	t->stack = &t->stacks->v[f->under];
	t->stack->owner = t->number;
	move_here(t, t->stack, 0);
	go_on(t);
}

void us_track_interrupted(struct us_tracker *t)
{
	t->interrupted_at = *t->insns;
}

void us_track_halt(struct us_tracker *t)
{
	if (!t->events || !us_events_epoch(t->events))
		return;
	own_stack(t);
	charge(t, *t->insns);
	note_stack(t, us_events_epoch(t->events), t->stack->n);
	t->events->halted = true;
}

void us_track_reset(struct us_tracker *t)
{
	charge(t, *t->insns);
	t->stack = us_track_stacks_take(t->stacks, ANYWHERE, t->number);
	t->stack->high = 0;
	t->next = US_NEXT_NOTHING;
	t->unsure = t->entered = false;
	t->vcpu->node = 0;
	t->vcpu->resets++;
}

void us_track_settle(struct us_tracker *t)
{
	charge(t, *t->insns);
}
