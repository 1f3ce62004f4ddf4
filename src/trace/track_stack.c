/* SPDX-License-Identifier: GPL-2.0-or-later */
/* track_stack.c: which stack a vCPU is on; see track.h. */
#include "trace/track_frames.h"

#include <string.h>

void us_track_bring_entered(struct us_tracker *t, struct us_track_stack *from)
{
	struct us_track_stack *to = t->stack;
	const struct us_track_frame *f = us_track_top(from);
	struct us_track_frame *under = us_track_top(to), *x = under + 1;
	if (f < from->frame || under == to->last)
		return;
	if (f->traced)
		us_track_note_moved(t, from, f->function->number);
	*x = *f;
	if (!t->link)
		x->sp = under >= to->frame ? under->sp - 1 : US_TRACK_ANYWHERE;
	us_track_set_top(to, x);
	us_track_drop(from);
}

/* When the interrupt came, the stack pointer had just been loaded with a higher address
 * on the same stack, so the interrupt's frame is there.  The frames that ended by that
 * load are found after the interrupt. */
static void keep_entered(struct us_tracker *t, uint64_t sp)
{
	struct us_track_frame *f = top(t);
	if (f && f->kind == US_TRACK_INTERRUPT && f->sp <= sp)
		f->sp = sp + 1;
}

void us_track_end_stack(struct us_tracker *t, struct us_track_stack *s)
{
	us_track_set_top(s, s->frame - 1);
	s->over = s->epoch = 0;
	s->awaits = NULL;
	s->tree_of = t->number;
	s->low = US_TRACK_ANYWHERE;
	s->high = 0;
}

/* An exception return entered a function without a caller, on a stack that was not
 * known.  What ran on that stack before has ended, because what runs there now was not
 * called.  Unless that was interrupted where it was about to enter a function. */
static bool has_begun(const struct us_tracker *t, const struct us_track_stack *s,
		      const struct us_track_stack *is)
{
	return us_track_n(s) && s->frame[0].begun && s->owner == t->number &&
	       s->low > s->high && !t->entered && !is->awaits;
}

/* An interrupt had its own stack for a while.  It is back on the one that it
 * interrupted if nothing there has ended since then. */
static bool came_back(const struct us_track_stack *was, const struct us_track_stack *is,
		      uint32_t n_before)
{
	const struct us_track_frame *f = us_track_top(was);
	return f >= was->frame && f->kind == US_TRACK_INTERRUPT &&
	       f->under == is->number && us_track_n(is) == n_before;
}

/* Find the stack from the address; it may be another one.  False: it was not known
 * before. */
bool us_track_find_stack(struct us_tracker *t, uint64_t sp)
{
	struct us_track_stack *was = t->stack;
	const struct us_track_memory m = us_track_memory_of(t, sp);
	struct us_track_stack *is = us_track_stacks_find(t->stacks, was, sp, &m,
							 t->number);
	if (is && is != was && has_begun(t, was, is)) {
		us_track_end_stack(t, is);
		is = NULL;
	}
	if (is)
		is->awaits = NULL;
	uint8_t entered = t->entered;
	t->entered = 0;
	t->unsure = false;
	/* A boot stack has no addresses before its first call. */
	bool boot = !is && was->owner == t->number && was->low > was->high;
	if (is == was || boot) {
		us_track_stack_learn(was, sp, &m);
		if (entered)
			keep_entered(t, sp);
		return true;
	}
	t->vcpu->switches++;
	t->stack = is ? is : us_track_stacks_take(t->stacks, sp, t->number);
	us_track_stack_learn(t->stack, sp, &m);
	us_track_move_here(t, t->stack, 0);
	uint32_t n = us_track_n(t->stack);
	if (is)
		us_track_pop_below(t, sp);
	bool back = is && came_back(was, is, n);
	if (back || (entered && us_track_n(was) &&
		     us_track_top(was)->kind == US_TRACK_INTERRUPT))
		us_track_bring_entered(t, was);
	return is;
}

/* Another vCPU continues on this vCPU's stack, so this one is on a stack that is not
 * known yet. */
void us_track_leave_stack(struct us_tracker *t)
{
	t->stack = us_track_stacks_take(t->stacks, US_TRACK_ANYWHERE, t->number);
	t->stack->high = 0; /* not known yet */
	t->unsure = true;
	t->entered = 0;
	t->left = NULL;
}

void us_track_take_stack(struct us_tracker *t, uint64_t sp)
{
	const struct us_track_memory m = us_track_memory_of(t, sp);
	t->stack = us_track_stacks_take(t->stacks, sp, t->number);
	us_track_stack_learn(t->stack, sp, &m);
	t->vcpu->switches++;
}

void us_track_replace_stack(struct us_tracker *t, uint64_t sp)
{
	const struct us_track_stack *was = t->stack;
	struct us_track_stack *s = us_track_stacks_take(t->stacks, sp, t->number);
	if (s != was) {
		s->root = was->root;
		memcpy(s->page, was->page, sizeof(s->page));
	}
	t->stack = s;
}

void us_track_resume_stack(struct us_tracker *t, uint16_t number)
{
	t->stack = &t->stacks->v[number];
	t->stack->owner = t->number;
	t->stack->awaits = NULL;
	us_track_move_here(t, t->stack, 0);
}

/* A thread begins: what is entered next has a stack of its own. */
void us_track_begin_stack(struct us_tracker *t, uint64_t sp)
{
	expect(t, US_NEXT_ROOT, NULL);
	t->sp = sp;
	t->vcpu->node = 0;
}

bool us_track_goes_back(struct us_tracker *t, uint64_t sp)
{
	const struct us_track_memory m = us_track_memory_of(t, sp);
	struct us_track_stack *is = us_track_stacks_left(t->stacks, t->stack, sp, &m);
	const struct us_track_frame *f = is ? us_track_top(is) : NULL;
	while (is && f >= is->frame && f->sp < sp)
		f--;
	if (!is || f < is->frame || f->sp != sp)
		return false;
	t->vcpu->switches++;
	t->stack = is;
	us_track_pop_below(t, sp);
	return true;
}
