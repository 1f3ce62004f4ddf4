/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trail.c: see trail.h. */
#include "unwind/trail.h"

#include "unwind/walk.h"

#define BLOCK	     256
#define SKIP	     3 /* frames at most */
#define PLACE_OF(sp) ((sp) / US_TRAIL_BYTES % US_TRAILS)

static const struct us_stack_window *window_of(const struct us_walk *w)
{
	const struct us_stack_copy *c = w->paging->stack;
	return c && !c->held && c->n_window == 1 && !c->n_frame ? &c->window[0] : NULL;
}

static bool same_space(const struct us_space *a, const struct us_space *b)
{
	return a->root == b->root && a->root_upper == b->root_upper &&
	       a->mode == b->mode && a->control == b->control;
}

/* The bytes at va, which is between top - US_TRAIL_BYTES and top. */
static uint8_t *bytes_at(struct us_trail *t, us_gva va)
{
	return t->bytes + (US_TRAIL_BYTES - (t->top - va));
}

static bool is_usable(const struct us_walk *w, const struct us_trail *t,
		      const struct us_stack_window *s)
{
	return t->n && t->change == w->u->n_change && t->age < US_SITE_TRUST &&
	       same_space(&t->space, w->space) && s->base < t->top &&
	       t->top - s->base <= s->len && s->len <= US_TRAIL_BYTES;
}

/* How many innermost frames to leave out, as their steps are known otherwise; the last
 * ones are kept. */
static unsigned to_skip(const struct us_walk *w, const struct us_trail_use *use)
{
	if (use->fresh || use->trail->depth < 3 || w->u->arch->link || w->word != 8)
		return 0;
	unsigned left = use->trail->depth - 2;
	return left < SKIP ? left : SKIP;
}

void us_trail_begin(struct us_walk *w)
{
	struct us_trails *all = &w->u->trails;
	struct us_trail_use *use = &all->use;
	const struct us_stack_window *s = window_of(w);
	*use = (struct us_trail_use){ .frame = all->frame, .n_reg = w->u->arch->n_reg };
	if (!s || s->base > UINT64_MAX - US_TRAIL_BYTES)
		return;
	use->trail = &all->trail[PLACE_OF(s->base)];
	use->window = s;
	use->fresh = !is_usable(w, use->trail, s);
	use->at = use->fresh ? 0 : use->trail->n;
	use->skip = to_skip(w, use);
	use->low = UINT64_MAX;
	use->top = s->base;
}

/* From its end on, how much of the stack is unchanged: in blocks, or all of it. */
static us_gva compare(struct us_trail *t, const struct us_stack_window *s)
{
	us_gva low = t->frame[t->n - 1].low, at = t->top;
	for (unsigned i = t->n; i-- && low < s->base;)
		low = t->frame[i].low;
	if (low < s->base)
		return at;
	while (at > low) {
		size_t n = at - low < BLOCK ? at - low : BLOCK;
		if (memcmp(s->bytes + (at - n - s->base), bytes_at(t, at - n), n))
			break;
		at -= n;
	}
	return at;
}

static bool is_word(const uint8_t *a, const uint8_t *b, unsigned bytes)
{
	return bytes == 8 ? !memcmp(a, b, 8) : !memcmp(a, b, bytes);
}

/* Would the step from this frame read the same words again? */
static bool words_are(const struct us_walk *w, struct us_trail *t,
		      const struct us_stack_window *s, const struct us_trail_frame *f)
{
	if (f->n_word > US_TRAIL_WORDS)
		return false;
	for (unsigned i = 0; i < f->n_word; i++) {
		us_gva va = f->word[i];
		if (va < s->base ||
		    !is_word(s->bytes + (va - s->base), bytes_at(t, va), w->word))
			return false;
	}
	return true;
}

static void compare_frames(const struct us_walk *w, struct us_trail_use *use)
{
	struct us_trail *t = use->trail;
	unsigned n = 0;
	use->same_from = compare(t, use->window);
	while (n < use->at && (t->frame[n].low >= use->same_from ||
			       words_are(w, t, use->window, &t->frame[n])))
		n++;
	use->n_same = n;
	use->compared = true;
}

static bool same_state(const struct us_walk *w, const struct us_trail_frame *f)
{
	const struct us_walk_arch *a = w->u->arch;
	if (f->pc != w->pc || f->known != w->known || f->flags != w->flags ||
	    f->n_switch != w->n_switch || f->framed != w->framed ||
	    f->after_call != w->after_call || f->reg[a->fp] != w->reg[a->fp])
		return false;
	for (uint32_t left = w->known; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		if (f->reg[i] != w->reg[i])
			return false;
	}
	return true;
}

/* What was missing has to be missing in this copy, too. */
static bool still_missed(const struct us_walk *w, us_gva missed)
{
	const struct us_stack_window *s = w->u->trails.use.window;
	return !missed || (missed >= s->base && missed - s->base + w->word > s->len);
}

/* The copy has to be in the state that it would have without a trail. */
static void tell_copy(struct us_walk *w, const struct us_trail_frame *f)
{
	struct us_stack_copy *c = w->paging->stack;
	us_gva end = w->u->trails.use.trail->top - c->window[0].base;
	if (end > c->deepest)
		c->deepest = (uint32_t)end;
	if (f->missed) {
		c->missed = true;
		c->missed_at = f->missed_last;
	}
}

static void take_over(struct us_walk *w, unsigned n, struct us_stack *out)
{
	struct us_trail *t = w->u->trails.use.trail;
	w->u->trails.use.joined = n;
	for (unsigned i = n - 1; i--; out->n++) {
		out->pc[out->n] = t->frame[i].pc;
		out->how[out->n] = t->frame[i].how;
		out->flags[out->n] = t->frame[i].out_flags;
	}
	out->end = t->end;
	tell_copy(w, &t->frame[n - 1]);
}

/* What a frame's own step read is noted when the next frame begins. */
static void close_frame(struct us_trail_use *use)
{
	struct us_trail_frame *f = use->now;
	if (!f)
		return;
	f->low = use->low;
	f->missed = use->missed;
	f->missed_last = use->missed_last;
	use->low = UINT64_MAX;
	use->missed = use->missed_last = 0;
}

static void note(struct us_walk *w, const struct us_stack *out)
{
	struct us_trail_use *use = &w->u->trails.use;
	close_frame(use);
	struct us_trail_frame *f = use->now = &use->frame[use->n++];
	f->pc = w->pc;
	f->known = w->known;
	f->n_word = 0;
	f->flags = w->flags;
	f->n_switch = w->n_switch;
	f->framed = w->framed;
	f->after_call = w->after_call;
	f->how = out->how[out->n - 1];
	f->out_flags = out->flags[out->n - 1];
	memcpy(f->reg, w->reg, use->n_reg * sizeof(*f->reg));
}

bool us_trail_meets(struct us_walk *w, struct us_stack *out)
{
	struct us_trail_use *use = &w->u->trails.use;
	unsigned sp = w->u->arch->sp, at = use->at;
	us_gva here = w->reg[sp];
	const struct us_trail_frame *f = use->trail->frame + at;
	while (at && f[-1].reg[sp] < here)
		at--, f--;
	use->at = at;
	f--;
	if (at && f->reg[sp] == here && out->n + at - 1 <= US_MAX_FRAMES &&
	    same_state(w, f)) {
		if (!use->compared)
			compare_frames(w, use);
		if (use->at <= use->n_same && still_missed(w, f->missed)) {
			close_frame(use);
			take_over(w, use->at, out);
			return true;
		}
	}
	if (use->n < US_MAX_FRAMES)
		note(w, out);
	return false;
}

void us_trail_missed(struct us_walk *w, us_gva va)
{
	struct us_trail_use *use = &w->u->trails.use;
	if (!use->missed || va < use->missed)
		use->missed = va ? va : 1;
	if (!use->missed_last || us_stack_copy_may_be(va))
		use->missed_last = va;
}

void us_trail_leave(struct us_walk *w)
{
	w->u->trails.use.trail = NULL;
}

/* Add what the steps of all outer frames read to that of each frame. */
static void add_up(struct us_trail *t, unsigned from)
{
	for (unsigned i = from; i < t->n; i++) {
		struct us_trail_frame *f = &t->frame[i];
		const struct us_trail_frame *outer = i ? f - 1 : NULL;
		if (outer && outer->low < f->low)
			f->low = outer->low;
		if (!outer || !outer->missed)
			continue;
		if (!f->missed || outer->missed < f->missed)
			f->missed = outer->missed;
		if (us_stack_copy_may_be(outer->missed_last))
			f->missed_last = outer->missed_last;
	}
}

static void keep(struct us_walk *w, const struct us_stack *out)
{
	struct us_trail_use *use = &w->u->trails.use;
	struct us_trail *t = use->trail;
	const struct us_stack_window *s = w->u->trails.use.window;
	unsigned joined = use->joined;
	us_gva top = joined ? t->top : use->top;
	if (joined + use->n > US_MAX_FRAMES || use->top > top ||
	    top - s->base > US_TRAIL_BYTES || top - s->base > s->len) {
		t->n = 0;
		return;
	}
	t->age = joined ? t->age + 1 : 0;
	us_gva same = joined ? use->same_from : top;
	t->top = top;
	memcpy(bytes_at(t, s->base), s->bytes, same - s->base);
	size_t size = offsetof(struct us_trail_frame, reg) +
		      use->n_reg * sizeof(*t->frame[0].reg);
	for (unsigned i = 0; i < use->n; i++) {
		struct us_trail_frame *to = &t->frame[joined + i];
		const struct us_trail_frame *from = &use->frame[use->n - 1 - i];
		memcpy(to, from, size);
	}
	t->n = joined + use->n;
	t->depth = out->n;
	t->change = w->u->n_change;
	t->space = *w->space;
	t->end = out->end;
	add_up(t, joined);
}

void us_trail_end(struct us_walk *w, const struct us_stack *out)
{
	struct us_trail_use *use = &w->u->trails.use;
	struct us_trail *t = use->trail;
	if (!t)
		return;
	if (!use->joined)
		close_frame(use);
	if (out->end == US_END_DEPTH || us_sites_spent(w->u->sites))
		t->n = 0;
	else
		keep(w, out);
}
