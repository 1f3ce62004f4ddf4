/* SPDX-License-Identifier: GPL-2.0-or-later */
/* links.c: see links.h. */
#include "backend/bpf/links.h"

#include <string.h>

#define NEAR	1024 /* above a stack pointer: where an unwinder reads first */
#define OFFSETS 4096
#define SURE	2

/* The word closest below the address, which was read relative to a stack pointer.
 * Distances in whole words come first; among equals the outermost wins. */
static uint32_t find(const struct us_stack_window *w, us_gva wanted, uint64_t *best)
{
	uint32_t offset = 0;
	for (uint32_t at = 0; at + 8 <= w->len; at += 8) {
		uint64_t word;
		memcpy(&word, w->bytes + at, 8);
		uint64_t distance = wanted - word;
		if (distance > NEAR)
			continue;
		distance += distance % 8 ? NEAR : 0;
		if (distance > *best)
			continue;
		*best = distance;
		offset = (uint32_t)((w->base + at) % OFFSETS);
	}
	return offset;
}

static bool has_room(const struct us_bpf_guest *g)
{
	for (unsigned i = 0; i < US_BPF_MAX_LINKS; i++)
		if (!g->link[i])
			return true;
	return false;
}

/* If there is no room, replace the link that the fewest stacks have needed. */
static void follow(struct us_bpf_links *l, struct us_bpf_guest *g, uint32_t offset)
{
	unsigned to = l->turn++ % US_BPF_MAX_LINKS;
	for (unsigned i = 0; i < US_BPF_MAX_LINKS; i++)
		if (g->link[i] == offset)
			return;
	for (unsigned i = 0; i < US_BPF_MAX_LINKS && g->link[to]; i++)
		if (!g->link[i] || l->used[i] < l->used[to])
			to = i;
	g->link[to] = offset;
	l->used[to] = 0;
}

void us_bpf_links_guess(struct us_bpf_links *l, struct us_bpf_guest *g)
{
	for (uint32_t end = 16; end && l->stacks < US_BPF_LINK_TRIAL && has_room(g);
	     end -= 8)
		follow(l, g, OFFSETS - end);
}

static void end_trial(const struct us_bpf_links *l, struct us_bpf_guest *g)
{
	for (unsigned i = 0; i < US_BPF_MAX_LINKS; i++)
		if (!l->used[i] && g->link[i] >= OFFSETS - 16)
			g->link[i] = 0;
}

/* Does a link at this offset in the window lead to that address? */
static bool leads(const struct us_stack_window *w, uint32_t link, us_gva to)
{
	uint64_t word, at = (link - w->base) % OFFSETS;
	for (; at + 8 <= w->len; at += OFFSETS) {
		memcpy(&word, w->bytes + at, 8);
		if (word == to)
			return true;
	}
	return false;
}

void us_bpf_links_count(struct us_bpf_links *l, const struct us_stack_copy *w,
			struct us_bpf_guest *g)
{
	if (l->stacks < US_BPF_LINK_TRIAL && ++l->stacks == US_BPF_LINK_TRIAL)
		end_trial(l, g);
	for (unsigned to = 1; to < w->n_window && w->used >> to; to++)
		for (unsigned i = 0; w->used >> to & 1 && i < US_BPF_MAX_LINKS; i++)
			for (unsigned from = 0; g->link[i] && from < to; from++)
				l->used[i] += leads(&w->window[from], g->link[i],
						    w->window[to].base);
}

void us_bpf_links_learn(struct us_bpf_links *l, const struct us_stack_copy *w,
			struct us_bpf_guest *g)
{
	uint64_t best = 2 * NEAR;
	uint32_t offset = 0;
	if (!us_stack_copy_may_be(w->missed_at))
		return;
	for (unsigned i = 0; i < w->n_window; i++) {
		uint32_t at = find(&w->window[i], w->missed_at, &best);
		offset = at ? at : offset;
	}
	if (!offset)
		return;
	for (unsigned i = 0; i < l->n; i++) {
		if (l->candidate[i].offset != offset)
			continue;
		if (++l->candidate[i].seen % SURE == 0)
			follow(l, g, offset);
		return;
	}
	if (has_room(g))
		follow(l, g, offset);
	unsigned to = l->next++ %
		      US_BPF_LINK_CANDIDATES; /* the oldest, if all are in use */
	if (l->n < US_BPF_LINK_CANDIDATES)
		l->n++;
	l->candidate[to].offset = (uint16_t)offset;
	l->candidate[to].seen = 1;
}
