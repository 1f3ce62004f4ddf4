/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stacks.c: the stacks of a guest, distinguished by their addresses; see track.h. */
#include "trace/track.h"

#include "trace/reserve.h"

#include <errno.h>
#include <string.h>

#define STACK_BYTES ((US_TRACK_DEPTH + 1) * sizeof(struct us_track_frame))
/* An address this far below the known part of a stack still belongs to it.  Without a
 * sign of a switch, a function's frame may be large; with one, the distance is small,
 * because code that switches stacks has small frames. */
#define BELOW_SAME  4096
#define BELOW_OTHER 1024
/* Frames of interrupts on the same stack differ by up to this much. */
#define ABOVE 256

int us_track_stacks_init(struct us_track_stacks *s)
{
	*s = (struct us_track_stacks){ .lock = ATOMIC_FLAG_INIT };
	s->v = us_reserve(US_TRACK_STACKS * sizeof(*s->v));
	char *frames = us_reserve(US_TRACK_STACKS * STACK_BYTES);
	if (!s->v || !frames) {
		if (frames)
			munmap(frames, US_TRACK_STACKS * STACK_BYTES);
		us_track_stacks_fini(s);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < US_TRACK_STACKS; i++) {
		s->v[i].frame = (void *)(frames + i * STACK_BYTES);
		s->v[i].top = s->v[i].frame++;
		s->v[i].last = &s->v[i].frame[US_TRACK_DEPTH - 1];
		s->v[i].number = (uint16_t)i;
	}
	return 0;
}

void us_track_stacks_fini(struct us_track_stacks *s)
{
	if (s->v && s->v[0].frame)
		munmap(s->v[0].frame - 1, US_TRACK_STACKS * STACK_BYTES);
	if (s->v)
		munmap(s->v, US_TRACK_STACKS * sizeof(*s->v));
	s->v = NULL;
}

static void lock(struct us_track_stacks *s)
{
	while (atomic_flag_test_and_set_explicit(&s->lock, memory_order_acquire))
		;
}

static void unlock(struct us_track_stacks *s)
{
	atomic_flag_clear_explicit(&s->lock, memory_order_release);
}

/* How far sp is below the known part of the stack; UINT64_MAX: it is not on it. */
static uint64_t below(const struct us_track_stack *s, uint64_t sp)
{
	if (s->low > s->high || sp > s->high + ABOVE)
		return UINT64_MAX;
	return sp < s->low ? s->low - sp : 0;
}

/* Does the stack belong to another program, at the same addresses? */
static bool is_of_other_space(const struct us_track_stack *s,
			      const struct us_track_memory *m)
{
	return s->root && m->root && s->root != m->root;
}

/* Or is it in other memory?  If the page tables are known, only they decide, because a
 * program's memory may be copied elsewhere. */
static bool is_elsewhere(const struct us_track_stack *s, uint64_t sp,
			 const struct us_track_memory *m)
{
	uint64_t number = sp >> US_TRACK_PAGE_BITS;
	if (m->root && s->root)
		return s->root != m->root;
	for (unsigned i = 0; i < US_TRACK_PAGES && m->page; i++)
		if (s->page[i].gpa && s->page[i].number == number)
			return s->page[i].gpa != m->page;
	return false;
}

void us_track_stack_learn(struct us_track_stack *s, uint64_t sp,
			  const struct us_track_memory *m)
{
	uint64_t number = sp >> US_TRACK_PAGE_BITS;
	unsigned at = number % US_TRACK_PAGES;
	if (m->root)
		s->root = m->root;
	if (!m->page)
		return;
	s->page[at].number = number;
	s->page[at].gpa = m->page;
}

static struct us_track_stack *nearest(struct us_track_stacks *s,
				      const struct us_track_stack *but, uint64_t sp,
				      const struct us_track_memory *m,
				      uint64_t *ret_distance)
{
	struct us_track_stack *best = NULL;
	*ret_distance = UINT64_MAX;
	for (unsigned i = 0; i < s->n; i++) {
		struct us_track_stack *x = &s->v[i];
		uint64_t d = below(x, sp);
		if (x == but || d > BELOW_OTHER || x->boot != s->boot ||
		    is_elsewhere(x, sp, m))
			continue;
		if (d > *ret_distance ||
		    (best && d == *ret_distance && x->used < best->used))
			continue;
		best = x;
		*ret_distance = d;
	}
	return best;
}

struct us_track_stack *us_track_stacks_find(struct us_track_stacks *s,
					    struct us_track_stack *near, uint64_t sp,
					    const struct us_track_memory *m,
					    uint16_t vcpu)
{
	uint64_t same = is_of_other_space(near, m) ? UINT64_MAX : below(near, sp),
		 other;
	if (near->owner == vcpu && same == 0)
		return near;
	lock(s);
	struct us_track_stack *best = nearest(s, near, sp, m, &other);
	if (near->owner == vcpu && other && same <= BELOW_SAME)
		best = near;
	if (best) {
		best->owner = vcpu;
		best->used = ++s->time;
	}
	unlock(s);
	return best;
}

struct us_track_stack *us_track_stacks_left(struct us_track_stacks *s,
					    const struct us_track_stack *now,
					    uint64_t sp,
					    const struct us_track_memory *m)
{
	struct us_track_stack *found = NULL;
	if (below(now, sp) <= BELOW_SAME)
		return NULL;
	lock(s);
	for (unsigned i = 0; i < s->n && !found; i++) {
		struct us_track_stack *x = &s->v[i];
		if (x != now && x->owner == now->owner && x->tree_of == now->tree_of &&
		    x->boot == s->boot && sp >= x->low && sp <= x->high &&
		    !is_elsewhere(x, sp, m))
			found = x;
	}
	unlock(s);
	return found;
}

struct us_track_stack *us_track_stacks_awaiting(struct us_track_stacks *s,
						const struct us_track_function *f,
						uint16_t vcpu)
{
	struct us_track_stack *found = NULL;
	lock(s);
	for (unsigned i = 0; i < s->n; i++) {
		struct us_track_stack *x = &s->v[i];
		if (x->awaits == f && x->boot == s->boot &&
		    (!found || x->used > found->used))
			found = x;
	}
	if (found) {
		found->awaits = NULL;
		found->owner = vcpu;
		found->used = ++s->time;
	}
	unlock(s);
	return found;
}

/* An unused stack; else the empty one whose last use is longest ago; else any, by last
 * use. */
static struct us_track_stack *oldest(struct us_track_stacks *s)
{
	if (s->n < US_TRACK_STACKS)
		return &s->v[s->n++];
	struct us_track_stack *best = &s->v[0];
	for (unsigned i = 1; i < s->n; i++) {
		struct us_track_stack *x = &s->v[i];
		if (!us_track_n(x) != !us_track_n(best) ? !us_track_n(x)
							: x->used < best->used)
			best = x;
	}
	return best;
}

struct us_track_stack *us_track_stacks_take(struct us_track_stacks *s, uint64_t sp,
					    uint16_t vcpu)
{
	lock(s);
	struct us_track_stack *x = oldest(s);
	us_track_set_top(x, x->frame - 1);
	x->over = x->epoch = 0;
	x->awaits = NULL;
	x->root = 0;
	memset(x->page, 0, sizeof(x->page));
	x->low = x->high = sp;
	x->owner = x->tree_of = vcpu;
	x->used = ++s->time;
	x->boot = s->boot;
	unlock(s);
	return x;
}

uint32_t us_track_stacks_boot(struct us_track_stacks *s, uint32_t boot)
{
	lock(s);
	if (s->boot == boot)
		s->boot++;
	boot = s->boot;
	unlock(s);
	return boot;
}
