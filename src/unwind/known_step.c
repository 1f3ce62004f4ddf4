/* SPDX-License-Identifier: GPL-2.0-or-later */
/* known_step.c: see known_step.h. */
#include "unwind/known_step.h"

#include "unwind/walk.h"

static bool same_space(const struct us_space *a, const struct us_space *b)
{
	return a->root == b->root && a->root_upper == b->root_upper &&
	       a->mode == b->mode && a->control == b->control;
}

void us_known_steps_begin(struct us_walk *w)
{
	struct us_known_steps *k = &w->u->known_steps;
	if (k->generation && k->change == w->u->n_change &&
	    same_space(&k->space, w->space))
		return;
	k->space = *w->space;
	k->change = w->u->n_change;
	k->generation++;
}

/* A step's reads are noted only if there is a trail. */
static bool is_usable(const struct us_walk *w)
{
	const struct us_trail_use *use = &w->u->trails.use;
	return use->trail && use->now && !w->u->arch->link && w->word == 8;
}

/* The set of US_KNOWN_WAYS steps for this frame.  Code that one sample interrupted may
 * have made a call in another. */
static struct us_known_step *set_of(struct us_walk *w)
{
	uint64_t more = (uint64_t)w->known << 2 | (uint64_t)w->framed << 1 |
			(uint64_t)w->after_call;
	uint64_t key = (w->pc ^ w->reg[US_X86_RSP] << 20 ^ more << 44) *
		       0x9e3779b97f4a7c15;
	return &w->u->known_steps.step[(key >> 57) * US_KNOWN_WAYS];
}
_Static_assert(US_KNOWN_STEPS / US_KNOWN_WAYS == 1 << 7,
	       "the highest 7 bits are the place");

static inline bool is_of(const struct us_walk *w, const struct us_known_step *k)
{
	return k->pc == w->pc && k->sp == w->reg[US_X86_RSP] &&
	       k->fp == w->reg[US_X86_RBP] && k->known == w->known &&
	       k->flags == w->flags && k->framed == w->framed &&
	       k->after_call == w->after_call &&
	       k->generation == w->u->known_steps.generation;
}

/* Equal, except for when its code was compared? */
static bool same_site(const struct us_site *a, const struct us_site *b)
{
	size_t head = offsetof(struct us_site, epoch), tail = head + sizeof(a->epoch);
	return !memcmp(a, b, head) &&
	       !memcmp((const uint8_t *)a + tail, (const uint8_t *)b + tail,
		       sizeof(*a) - tail);
}

/* Would the code still give this step? */
static bool is_true(struct us_walk *w, struct us_known_step *k)
{
	struct us_sites *sites = w->u->sites;
	uint32_t now = w->paging->epoch;
	if (now - k->epoch < US_SITE_TRUST)
		return true;
	const struct us_site *site = us_sites_find(sites, k->pc, k->after_call, NULL);
	if (!same_site(site, &k->site) ||
	    !same_site(us_sites_find(sites, k->to.pc, true, site), &k->call))
		return false;
	k->epoch = now;
	return true;
}

/* Would the step still read the same words? */
static bool reads_same(struct us_stack_copy *c, const struct us_known_step *k)
{
	const struct us_stack_window *s = &c->window[0];
	uint64_t from = k->low - s->base, end = k->top - s->base;
	if (!k->n_word)
		return true;
	if (end > s->len || from > end)
		return false;
	for (unsigned i = 0; i < k->n_word; i++)
		if (memcmp(s->bytes + (k->at[i] - s->base), &k->word[i], 8) != 0)
			return false;
	if (end > c->deepest)
		c->deepest = (uint32_t)end;
	return true;
}

/* If the trail leaves the frame out, its words belong to no frame. */
static void note_words(struct us_trail_use *use, const struct us_known_step *k)
{
	if (use->n) {
		for (unsigned i = 0; i < k->n_word; i++)
			us_trail_read(use, k->at[i], 8);
		return;
	}
	if (k->low < use->low)
		use->low = k->low;
	if (k->top > use->top)
		use->top = k->top;
}

/* Go where the step that was found went. */
static void make(struct us_walk *w, const struct us_known_step *k, struct us_stack *out)
{
	w->u->cfa[out->n - 1] = k->to.known >> US_X86_RSP & 1 ? k->to.sp : 0;
	w->callee = w->pc;
	w->callee_after_call = w->after_call;
	w->known = k->to.known;
	w->reg[US_X86_RSP] = k->to.sp;
	w->reg[US_X86_RBP] = k->to.fp;
	w->framed = k->to.framed;
	w->pc = k->to.pc;
	w->site = NULL;
	w->after_call = true;
	w->flags = k->to.flags;
	out->how[out->n] = k->to.how;
	out->flags[out->n] = k->to.flags;
	out->pc[out->n++] = k->to.pc;
}

bool us_known_step(struct us_walk *w, struct us_stack *out)
{
	if (!is_usable(w))
		return false;
	struct us_known_step *k = set_of(w), *end = k + US_KNOWN_WAYS;
	while (k < end && !is_of(w, k))
		k++;
	if (k == end || !reads_same(w->paging->stack, k) || !is_true(w, k))
		return false;
	note_words(&w->u->trails.use, k);
	make(w, k, out);
	return true;
}

/* Where the stack is aligned, the caller depends on other registers.  Where the code
 * switches stacks, it depends on how often that happened before. */
static bool is_plain(const struct us_code_rule *rule)
{
	return rule->base != US_BASE_R10 && rule->base != US_BASE_R13 &&
	       rule->base != US_BASE_WORD && rule->base != US_BASE_WORD_WORD &&
	       rule->base != US_BASE_KEPT && rule->base != US_BASE_POPPED &&
	       rule->ra == US_RA_BELOW && rule->sp != US_SP_R10 &&
	       rule->sp != US_SP_R13 && rule->sp != US_SP_LOST;
}

static bool is_by_code(const struct us_walk *w, const struct us_step *s)
{
	const struct us_site *site = w->site;
	return !s->exact && !s->rule && !s->narrow && !w->next_space &&
	       s->how != US_HOW_CFI && s->how != US_HOW_INTERRUPT && site &&
	       site->pc == w->pc && site->source == US_SITE_CODE && !site->doubtful &&
	       is_plain(&site->rule[0]) && is_plain(&site->rule[1]) &&
	       us_site_is_known(s->call);
}

/* The same step's entry, or else the one that was found or compared longest ago. */
static struct us_known_step *place_in(const struct us_walk *w,
				      struct us_known_step *set)
{
	struct us_known_step *oldest = set;
	for (struct us_known_step *k = set; k < set + US_KNOWN_WAYS; k++) {
		if (is_of(w, k))
			return k;
		if (w->paging->epoch - k->epoch > w->paging->epoch - oldest->epoch)
			oldest = k;
	}
	return oldest;
}

void us_known_step_keep(struct us_walk *w, const struct us_step *s)
{
	if (!is_usable(w) || !is_by_code(w, s) || s->moved)
		return;
	const struct us_trail_use *use = &w->u->trails.use;
	const struct us_trail_frame *read = use->now;
	if (use->missed || read->n_word > US_KNOWN_WORDS)
		return;
	struct us_known_step *k = place_in(w, set_of(w));
	*k = (struct us_known_step){
		.pc = w->pc,
		.sp = w->reg[US_X86_RSP],
		.fp = w->reg[US_X86_RBP],
		.known = w->known,
		.generation = w->u->known_steps.generation,
		.epoch = w->paging->epoch,
		.flags = w->flags,
		.n_word = read->n_word,
		.framed = w->framed,
		.after_call = w->after_call,
		.to = { .pc = s->pc,
			.sp = s->sp,
			.fp = s->fp,
			.how = s->how,
			.flags = s->flags,
			.known = (uint32_t)s->sp_known << US_X86_RSP |
				 (uint32_t)s->fp_known << US_X86_RBP,
			.framed = s->framed },
		.low = UINT64_MAX,
		.site = *w->site,
		.call = *s->call
	};
	for (unsigned i = 0; i < k->n_word; i++) {
		us_gva at = k->at[i] = read->word[i];
		k->low = at < k->low ? at : k->low;
		k->top = at + 8 > k->top ? at + 8 : k->top;
		(void)us_stack_copy_word(w->paging->stack, k->at[i], &k->word[i]);
	}
}
