/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waits_kept.c: see waits_kept.h. */
#include "cmd/record/waits_kept.h"

#include <stdlib.h>
#include <string.h>

void us_waits_drop(struct us_waits_kept *k)
{
	free(k->pc);
	free(k->flags);
	memset(k, 0, sizeof(*k));
}

static struct us_waits_kept *set_of(struct us_waits *w, us_gva at)
{
	uint64_t k = (at * 0x9e3779b97f4a7c15 >> 32) &
		     (US_WAITS_KEPT / US_WAITS_WAYS - 1);
	return &w->kept[k * US_WAITS_WAYS];
}

static struct us_waits_kept *find_kept(struct us_waits *w, us_gva at)
{
	struct us_waits_kept *set = set_of(w, at);
	for (unsigned k = 0; k < US_WAITS_WAYS; k++)
		if (set[k].at == at)
			return &set[k];
	return NULL;
}

/* The task's own entry, a free one, or the one that was not used for the longest
 * time. */
static struct us_waits_kept *room_for(struct us_waits *w, us_gva at)
{
	struct us_waits_kept *set = set_of(w, at), *oldest = find_kept(w, at);
	for (unsigned k = 0; k < US_WAITS_WAYS && !oldest; k++)
		oldest = !set[k].at ? &set[k] : NULL;
	if (oldest)
		return oldest;
	oldest = set;
	for (unsigned k = 1; k < US_WAITS_WAYS; k++)
		if (set[k].look < oldest->look)
			oldest = &set[k];
	return oldest;
}

void us_waits_keep(struct us_waits *w, const struct us_linux_task *t, uint64_t switches)
{
	const struct us_stack *s = &w->code->stack;
	struct us_waits_kept *k = room_for(w, t->at);
	us_waits_drop(k);
	k->pc = malloc((s->n + 1U) * sizeof(*k->pc));
	k->flags = malloc(s->n + 1U);
	if (!k->pc || !k->flags) {
		us_waits_drop(k);
		return;
	}
	memcpy(k->pc, s->pc, s->n * sizeof(*k->pc));
	memcpy(k->flags, s->flags, s->n);
	k->at = t->at;
	k->look = w->now.looks;
	k->pid = t->pid;
	k->switches = switches;
	k->n = s->n;
	k->end = s->end;
	k->known = w->known;
	k->changes = w->program_changes;
	k->partial = t->root && (s->end != US_END_ROOT || !s->n ||
				 !(s->flags[s->n - 1] & US_PC_SPACE));
}

/* Would unwinding now give a longer stack? */
static bool is_outdated(const struct us_waits *w, const struct us_waits_kept *k)
{
	return k->partial && w->known &&
	       (!k->known || k->changes != w->program_changes);
}

bool us_waits_recall(struct us_waits *w, const struct us_linux_task *t,
		     uint64_t switches)
{
	struct us_waits_kept *k = find_kept(w, t->at);
	struct us_stack *s = &w->code->stack;
	if (!k || k->pid != t->pid || k->switches != switches || is_outdated(w, k))
		return false;
	k->look = w->now.looks;
	memcpy(s->pc, k->pc, k->n * sizeof(*k->pc));
	memcpy(s->flags, k->flags, k->n);
	s->n = k->n;
	s->end = k->end;
	return true;
}
