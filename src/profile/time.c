/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/time.c: what vCPUs with work to do did, regardless of the stack. */
#include "profile/profile_priv.h"

/* The reason for which it left the guest; false: not recorded. */
static bool exit_of(const struct us_profile *p, uint32_t stack, unsigned *ret_reason,
		    unsigned *ret_place)
{
	const struct us_trie_node *v = p->trie.nodes.v;
	for (stack = v[stack].no_frame; stack; stack = v[v[stack].parent].no_frame)
		if (v[stack].flags & US_PC_EXIT)
			return us_exit_parts(v[stack].pc, ret_reason, ret_place);
	return false;
}

void us_profile_sum_time(struct us_profile *p)
{
	struct us_profile_time *t = &p->sum.time;
	const struct us_profile_opts *o = &p->opts;
	t->whole = !o->vcpu_mask && !o->from_ns && !o->to_ns;
	for (size_t i = 0; i < p->running.sums.n; i++) {
		const struct us_slice_sum *x = &p->running.sums.v[i];
		unsigned reason, place;
		switch (x->key % US_N_KIND) {
		case US_KIND_GUEST:
			t->guest += x->weight;
			break;
		case US_KIND_READY:
			t->ready += x->weight;
			break;
		default:
			if (exit_of(p, x->key / US_N_KIND, &reason, &place))
				t->exit[reason][place] += x->weight;
			else
				t->exit_untold += x->weight;
		}
	}
}
