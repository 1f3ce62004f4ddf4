/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stack_need.c: see stack_need.h. */
#include "backend/bpf/stack_need.h"

#include "base/clock.h"

#include <string.h>

#define EAGER_NS     (100 * US_NS_PER_MS)
#define LEAST_WINDOW 512
#define NEED_NS	     US_NS_PER_SEC /* how often the need is determined again */

void us_bpf_need_start(struct us_bpf_need *n, struct us_bpf_guest *g, uint64_t now_ns)
{
	n->guest = g;
	n->eager_ns = now_ns + EAGER_NS;
}

/* Twice what was needed recently; at a page's end, the most ever needed is enough. */
static void set_window_size(struct us_bpf_need *n)
{
	uint32_t need = n->now > n->before ? n->now : n->before;
	n->most = need > n->most ? need : n->most;
	n->guest->enough = n->most;
	need = 2 * (need + LEAST_WINDOW / 4);
	n->guest->window = need < LEAST_WINDOW	      ? LEAST_WINDOW
			   : need > US_BPF_MAX_WINDOW ? US_BPF_MAX_WINDOW
						      : need;
}

void us_bpf_need_settle(struct us_bpf_need *n, uint64_t now_ns)
{
	if (!n->now || (n->before && now_ns - n->since_ns < NEED_NS))
		return;
	/* What was needed once may be needed again: forget it slowly. */
	n->before -= n->before / 8;
	if (n->before < n->now)
		n->before = n->now;
	set_window_size(n);
	n->now = 1;
	n->since_ns = now_ns;
}

/* Does the missed address follow what was copied of the same stack? */
static bool is_above(const struct us_stack_copy *w)
{
	for (unsigned i = 0; i < w->n_window; i++)
		if (w->missed_at - w->window[i].base < US_BPF_MAX_WINDOW)
			return true;
	return false;
}

void us_bpf_need_learn(struct us_bpf_need *n, const struct us_stack_copy *w, bool cut)
{
	if (!w->n_window)
		return;
	if (w->deepest > n->now)
		n->now = w->deepest;
	us_bpf_links_count(&n->links, w, n->guest);
	if (!cut)
		return;
	n->eager_ns = us_now_ns() + EAGER_NS;
	/* It needs memory further up, or on another stack: copy that from now on. */
	if (is_above(w)) {
		n->now = n->now < US_BPF_MAX_WINDOW / 2 ? 2 * n->now
							: US_BPF_MAX_WINDOW;
		set_window_size(n);
	} else {
		us_bpf_links_learn(&n->links, w, n->guest);
	}
}
