/* SPDX-License-Identifier: GPL-2.0-or-later */
/* track_enter.c: entries of functions, of any kind, and ends of interrupts; see
 * track.h. */
#include "trace/track_fast.h"

/* No entry followed a call or trap, so its target is code without names. */
void us_track_settle_next(struct us_tracker *t)
{
	uint8_t next = t->next;
	t->next = US_NEXT_NOTHING;
	if (next == US_NEXT_CALL && t->link)
		us_track_link_hold(t, &us_track_unnamed);
	else if (next == US_NEXT_CALL)
		push_call(t, &us_track_unnamed, t->sp);
	else if (next == US_NEXT_LEAVE && us_track_n(t->stack))
		us_track_link_leave(t);
}

void us_track_save_next(const struct us_tracker *t, struct us_track_frame *x,
			uint32_t node, bool save)
{
	x->saved_node = node;
	x->saved_vcpu = t->number;
	x->saved_next = save ? t->next : US_NEXT_NOTHING;
	x->saved = t->function;
	x->saved_sp = t->sp;
	x->saved_unsure = t->unsure;
	x->saved_entered = t->link ? t->entered : 0;
	x->saved_foreign = t->foreign;
	x->saved_left = t->left;
	x->saved_by = t->held_by;
	x->saved_entered_by = t->entered_by;
}

void us_track_restore_next(struct us_tracker *t, const struct us_track_frame *x)
{
	expect(t, x->saved_next, x->saved);
	t->sp = x->saved_sp;
	t->unsure = x->saved_unsure;
	t->entered = x->saved_entered;
	t->foreign = x->saved_foreign;
	t->left = x->saved_left;
	t->held_by = x->saved_by;
	t->entered_by = x->saved_entered_by;
	t->held_at = t->at;
}

void us_track_resume(struct us_tracker *t, const struct us_track_frame *x)
{
	if (x->saved_vcpu == t->number)
		t->vcpu->node = x->saved_node;
	else
		go_on(t);
}

/* The kernel may keep the interrupted program's registers elsewhere, and resume it from
 * there, after others, with nothing left of the interrupt. */
static void await(struct us_tracker *t)
{
	const struct us_track_function *f = t->function;
	bool call = t->next == US_NEXT_CALL || t->next == US_NEXT_MAYBE;
	if (t->link || (!call && t->next != US_NEXT_ENTRY && t->next != US_NEXT_JUMP))
		return;
	t->stack->awaits = f && !call ? f : &us_track_unnamed;
	t->stack->awaits_next = t->next;
}

/* Entered by an interrupt, a fault or a trap, which may have changed the stack. */
void us_track_enter_kernel(struct us_tracker *t, const struct us_track_function *f,
			   uint32_t parent, bool save, bool trap)
{
	const struct us_track_frame *under = top(t);
	uint16_t number = t->stack->number;
	uint32_t node = t->vcpu->node;
	if (save)
		await(t);
	struct us_track_frame *x = us_track_push(t, parent, f,
						 t->link ? 0
						 : under ? under->sp - 1
							 : US_TRACK_ANYWHERE,
						 US_TRACK_INTERRUPT);
	if (x) {
		x->under = number;
		x->trap = trap;
		us_track_save_next(t, x, node, save);
		enter_node(t, US_EVENT_INTERRUPT);
	}
	t->next = US_NEXT_NOTHING;
	t->unsure = true;
	t->entered = 1;
	t->foreign = t->link;
	t->left = NULL;
}

/* However little is traced, the trace shows how long the vCPU waited. */
static void wake(struct us_tracker *t)
{
	uint32_t epoch = t->events ? us_events_epoch(t->events) : 0;
	if (epoch && t->events->halted)
		us_track_note_stack(t, epoch, us_track_n(t->stack));
}

static void interrupt(struct us_tracker *t, struct us_track_function *f, bool save)
{
	if (!save)
		us_track_settle_next(t);
	f->by_interrupt = true;
	t->vcpu->interrupts++;
	wake(t);
	us_track_enter_kernel(t, f, us_track_interrupts_node(t), save, false);
}

static void enter_upcall(struct us_tracker *t, const struct us_track_function *f)
{
	uint32_t n = us_track_n(t->stack);
	us_track_enter_kernel(t, f, t->vcpu->node, true, true);
	if (us_track_n(t->stack) > n)
		us_track_top(t->stack)->upcall = true;
}

static void jump_to(struct us_tracker *t, struct us_track_function *f)
{
	struct us_track_frame *x = top(t);
	t->next = US_NEXT_NOTHING;
	if (x && (x->function == f || f->thunk))
		return; /* a loop, or it jumps or calls on */
	if (x) {
		bool was = x->traced;
		us_track_move_on(t, x, f, true);
		enter_node(t, was ? US_EVENT_JUMP : US_EVENT_ENTER);
	} else if (us_track_push_base(t, f, US_TRACK_ANYWHERE)) {
		enter_node(t, US_EVENT_ENTER);
	}
}

/* A return led to the first function of a thread.  With link registers, its stack is
 * not known yet. */
static void begin_thread(struct us_tracker *t, const struct us_track_function *f)
{
	if (t->link)
		us_track_leave_stack(t);
	else
		us_track_replace_stack(t, t->sp);
	t->vcpu->switches++;
	t->next = US_NEXT_NOTHING;
	if (us_track_push_base(t, f, t->link ? US_TRACK_ANYWHERE : t->sp))
		enter_node(t, US_EVENT_ENTER);
}

/* An exception return led to f, and nothing is left of what it resumes: that was
 * interrupted on another stack right before it entered f. */
static bool enter_awaited(struct us_tracker *t, struct us_track_function *f)
{
	struct us_track_stack *s = t->sp == US_TRACK_ANYWHERE && !t->link
					   ? us_track_stacks_awaiting(t->stacks, f,
								      t->number)
					   : NULL;
	if (!s)
		return false;
	us_track_resume_stack(t, s->number);
	t->vcpu->switches++;
	t->next = US_NEXT_NOTHING;
	t->unsure = true;
	go_on(t);
	if (s->awaits_next == US_NEXT_JUMP)
		jump_to(t, f);
	return true;
}

/* Enter f as the preceding instruction announced; sure: the processor's state confirms
 * it.  False: something else came in between. */
static bool enter_next(struct us_tracker *t, struct us_track_function *f, bool sure)
{
	bool by_interrupt = f->by_interrupt && !sure;
	switch ((enum us_track_next)t->next) {
	case US_NEXT_CALL:
	case US_NEXT_MAYBE:
		if (by_interrupt)
			return false;
		t->next = US_NEXT_NOTHING;
		if (t->link)
			us_track_link_hold(t, f);
		else
			push_call(t, f, t->sp);
		return true;
	case US_NEXT_JUMP:
		if (t->function ? t->function != f : by_interrupt)
			return false;
		jump_to(t, f);
		return true;
	case US_NEXT_TRAP:
		us_track_enter_kernel(t, f, t->vcpu->node, false, true);
		return true;
	case US_NEXT_ROOT:
		if (by_interrupt)
			return false;
		if (enter_awaited(t, f))
			return true;
		t->next = US_NEXT_NOTHING;
		if (us_track_push_base(t, f, t->sp)) {
			us_track_top(t->stack)->begun = t->sp == US_TRACK_ANYWHERE;
			enter_node(t, US_EVENT_ENTER);
		}
		return true;
	case US_NEXT_LEAVE:
		if (by_interrupt)
			return false;
		if (f->within && us_track_n(t->stack))
			us_track_link_leave(t);
		jump_to(t, f);
		return true;
	case US_NEXT_SWITCHED:
		if (by_interrupt)
			return false;
		begin_thread(t, f);
		return true;
	default:
		return false;
	}
}

static bool enter_as_said(struct us_tracker *t, struct us_track_function *f)
{
	enum us_track_how how = us_track_how_entered(t, f);
	if (how == US_HOW_INTERRUPT)
		return false;
	bool sure = how == US_HOW_SAID;
	struct us_track_doubt *d = sure ? NULL : us_track_doubt_begin(t, f);
	if (!enter_next(t, f, sure))
		return false;
	if (d)
		us_track_doubt_keep(t, d);
	return true;
}

/* ---- Ends of upcalls ---- */

/* With its frame, and all above it; what it interrupted goes on. */
static void end_interrupt(struct us_tracker *t, const struct us_track_frame *f)
{
	us_track_drop_to(t, (uint32_t)(f - t->stack->frame));
	us_track_restore_next(t, f);
	t->resumed_at = *t->insns;
	us_track_resume_stack(t, f->under);
	us_track_resume(t, f);
}

void us_track_upcall_ends(struct us_tracker *t)
{
	charge(t, *t->insns);
	t->vcpu->returns++;
	end_interrupt(t, us_track_top(t->stack));
}

void us_track_upcalls_end(struct us_tracker *t, const struct us_track_function *in)
{
	const struct us_track_frame *x = top(t);
	while (x > t->stack->frame && x->upcall && x->function != in &&
	       x[-1].function == in) {
		us_track_drop_to(t, us_track_n(t->stack) - 1);
		x = top(t);
	}
}

/* What an upcall interrupted was about to enter f.  It ends with a jump there, or
 * another exception return. */
static bool enter_behind_upcall(struct us_tracker *t, struct us_track_function *f,
				bool resumed)
{
	const struct us_track_frame *x = top(t);
	bool anywhere = resumed || (t->next == US_NEXT_JUMP && !t->function);
	if (!anywhere || !x || !x->upcall || x->saved != f ||
	    (x->saved_next != US_NEXT_ENTRY && x->saved_next != US_NEXT_JUMP))
		return false;
	bool jump = x->saved_next == US_NEXT_JUMP;
	end_interrupt(t, x);
	t->expected = NULL;
	t->next = US_NEXT_NOTHING;
	if (jump)
		jump_to(t, f);
	return true;
}

static void enter_slowly(struct us_tracker *t, const struct us_track_entry *e)
{
	struct us_track_function *f = e->function;
	if (t->expected) { /* another function's: keep that for later */
		t->next = US_NEXT_ENTRY;
		t->function = t->expected;
		t->expected = NULL;
	} else if (t->next == US_NEXT_ENTRY && t->function == f) {
		t->next = US_NEXT_NOTHING;
		return;
	}
	own_stack(t);
	const struct us_track_frame *x = top(t);
	uint64_t begin = *t->insns - e->n_insn;
	bool returned = t->vcpu->charged == begin && t->next == US_NEXT_NOTHING && x &&
			f->within == x->function;
	if (t->held)
		us_track_link_place(t);
	charge(t, begin + e->n_before);
	if (e->n_before || returned) {
		settle(t, f);
		jump_to(t, f);
		return;
	}
	bool just_now = t->at == begin, told = t->interrupted_at == begin;
	bool resumed = t->resumed_at == begin;
	if (enter_behind_upcall(t, f, resumed))
		return;
	if (resumed && !told && us_track_is_upcall(t, f)) {
		enter_upcall(t, f);
		return;
	}
	if (just_now && !told && enter_as_said(t, f))
		return;
	if (resumed && x && x->function == f)
		return;	    /* resumed, at its first instruction */
	if (!begin && !x) { /* the machine starts in it */
		jump_to(t, f);
		return;
	}
	interrupt(t, f, just_now || t->next == US_NEXT_ENTRY);
}

void us_track_enter(struct us_tracker *t, const struct us_track_entry *e)
{
	if (!us_track_enter_fast(t, e))
		enter_slowly(t, e);
}

void us_track_trap(struct us_tracker *t, const struct us_track_site *s)
{
	own_stack(t);
	settle(t, s->in);
	charge(t, *t->insns);
	expect(t, US_NEXT_TRAP, NULL);
}

/* ---- Ends of interrupts ---- */

static struct us_track_frame *innermost_interrupt(const struct us_track_stack *s)
{
	for (uint32_t i = us_track_n(s); i-- > 0;)
		if (s->frame[i].kind == US_TRACK_INTERRUPT)
			return &s->frame[i];
	return NULL;
}

/* The same for the stack from which an exception return loads (sp; 0: not known).  An
 * interrupt that switched to its own stack before its first call has its frame there,
 * and leaves that stack again before it returns. */
static struct us_track_frame *interrupt_that_ends(struct us_tracker *t, uint64_t sp)
{
	struct us_track_stack *was = t->stack;
	if (t->unsure && sp)
		us_track_find_stack(t, sp);
	struct us_track_frame *f = innermost_interrupt(t->stack);
	if (f || was == t->stack || was->tree_of != t->number)
		return f;
	f = innermost_interrupt(was);
	if (!f || f->under != t->stack->number)
		return NULL;
	t->stack = was;
	go_on(t);
	return f;
}

/* Something without a caller is entered: a thread, or a program. */
static void leave_for_new(struct us_tracker *t)
{
	us_track_take_stack(t, US_TRACK_ANYWHERE);
	us_track_begin_stack(t, US_TRACK_ANYWHERE);
	t->stack->high = 0; /* not known yet */
	t->unsure = true;
}

void us_track_iret(struct us_tracker *t, const struct us_track_site *s, uint64_t sp)
{
	own_stack(t);
	const struct us_track_frame *x = top(t);
	/* The entry of an unnamed handler that interrupted named code was not seen. */
	if (t->link && s->in == &us_track_unnamed && x &&
	    x->function != &us_track_unnamed && t->next != US_NEXT_TRAP)
		return;
	settle(t, s->in);
	const struct us_track_frame *f = interrupt_that_ends(t, sp);
	if (!f && s->in == &us_track_unnamed && !t->link)
		return;
	charge(t, *t->insns);
	t->entered = 0;
	if (us_track_doubt_ends(t, sp))
		return;
	if (!f) {
		leave_for_new(t);
		return;
	}
	end_interrupt(t, f);
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
	us_track_note_stack(t, us_events_epoch(t->events), us_track_n(t->stack));
	us_events_halt(t->events);
}

/* Everything that was being executed has ended. */
static void begin_anew(struct us_tracker *t)
{
	t->stack = us_track_stacks_take(t->stacks, US_TRACK_ANYWHERE, t->number);
	t->stack->high = 0; /* not known yet */
	t->next = US_NEXT_NOTHING;
	t->expected = NULL;
	t->unsure = t->moved = t->foreign = false;
	t->left = t->held = NULL;
	t->held_by = &us_track_unnamed;
	t->resumed_at = t->interrupted_at = UINT64_MAX;
	t->entered = 0;
	t->vcpu->node = 0;
}

bool us_track_reset(struct us_tracker *t, uint32_t rest)
{
	uint32_t was = t->stacks->boot;
	if (*t->insns > rest)
		t->boot = us_track_stacks_boot(t->stacks, t->boot);
	bool first = *t->insns > rest && t->boot != was;
	t->vcpu->resets += first;
	charge(t, *t->insns - rest);
	begin_anew(t);
	return first;
}

void us_track_was_reset(struct us_tracker *t)
{
	charge(t, *t->insns);
	begin_anew(t);
	expect(t, US_NEXT_ROOT, NULL);
	t->sp = US_TRACK_ANYWHERE;
}
