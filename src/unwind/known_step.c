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

/* What was read for a step is noted with the trail only. */
static bool is_usable(const struct us_walk *w)
{
	const struct us_trail_use *use = &w->u->trails.use;
	return use->trail && use->n && !w->u->arch->link && w->word == 8;
}

static struct us_known_step *place_of(struct us_walk *w)
{
	uint64_t key = (w->pc ^ w->reg[US_X86_RSP] << 20) * 0x9e3779b97f4a7c15;
	return &w->u->known_steps.step[key >> 56];
}
_Static_assert(US_KNOWN_STEPS == 256, "the highest 8 bits are the place");

static bool is_of(const struct us_walk *w, const struct us_known_step *k)
{
	return k->pc == w->pc && k->sp == w->reg[US_X86_RSP] &&
	       k->fp == w->reg[US_X86_RBP] && k->known == w->known &&
	       k->flags == w->flags && k->framed == w->framed &&
	       k->after_call == w->after_call &&
	       k->generation == w->u->known_steps.generation &&
	       w->paging->epoch - k->epoch < US_SITE_TRUST;
}

bool us_known_step(struct us_walk *w, struct us_step *ret)
{
	const struct us_known_step *k = place_of(w);
	uint64_t word;
	if (!is_usable(w) || !is_of(w, k))
		return false;
	/* Up to one that differs they are those that the step would read. */
	for (unsigned i = 0; i < k->n_word; i++)
		if (!us_walk_read(w, k->at[i], &word) || word != k->word[i])
			return false;
	ret->pc = k->to.pc;
	ret->sp = k->to.sp;
	ret->fp = k->to.fp;
	ret->call = NULL;
	ret->rule = NULL;
	ret->exact = ret->narrow = ret->ra_known = false;
	ret->sp_known = k->to.sp_known;
	ret->fp_known = k->to.fp_known;
	ret->framed = k->to.framed;
	ret->how = k->to.how;
	ret->flags = k->to.flags;
	return true;
}

/* Where a stack is aligned the caller depends on other registers. */
static bool is_plain(const struct us_code_rule *rule)
{
	return rule->base != US_BASE_R10 && rule->base != US_BASE_R13 &&
	       rule->sp != US_SP_R10 && rule->sp != US_SP_R13;
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

void us_known_step_keep(struct us_walk *w, const struct us_step *s)
{
	if (!is_usable(w) || !is_by_code(w, s))
		return;
	const struct us_trail_use *use = &w->u->trails.use;
	const struct us_trail_frame *read = &use->frame[use->n - 1];
	if (use->missed || read->n_word > US_KNOWN_WORDS)
		return;
	struct us_known_step *k = place_of(w);
	*k = (struct us_known_step){ .pc = w->pc,
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
					     .sp_known = s->sp_known,
					     .fp_known = s->fp_known,
					     .framed = s->framed } };
	for (unsigned i = 0; i < k->n_word; i++) {
		k->at[i] = read->word[i];
		us_stack_copy_read(w->paging->stack, k->at[i], &k->word[i], 8);
	}
}
