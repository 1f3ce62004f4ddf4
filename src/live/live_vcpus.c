/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live_vcpus.c: what each vCPU did, and does. */
#include "live/live_priv.h"

#include <string.h>

/* Why it had left the guest.  Only its stack can say that. */
static void add_exit(const struct us_live *l, const struct us_sample *s,
		     struct us_live_vcpu *v)
{
	unsigned reason, place;
	us_stack_id id = s->stack;
	v->exit += s->weight;
	for (unsigned i = 0; i <= US_MAX_FRAMES; i++) {
		const struct us_live_node *n = us_live_node(&l->guest, id);
		if (!n)
			break;
		if (n->flags & US_PC_EXIT && us_exit_parts(n->pc, &reason, &place)) {
			v->exit_for[reason][place] += s->weight;
			return;
		}
		id = n->parent;
	}
	v->exit_untold += s->weight;
}

static void add(const struct us_live *l, const struct us_sample *s,
		struct us_live_vcpu *v)
{
	switch (s->state) {
	case US_VCPU_GUEST:
		v->guest += s->weight;
		break;
	case US_VCPU_EXIT:
		add_exit(l, s, v);
		break;
	case US_VCPU_READY:
		v->ready += s->weight;
		break;
	case US_VCPU_HALTED:
		v->idle += s->weight;
		break;
	default:
		v->off += s->weight;
	}
}

void us_live_vcpus(const struct us_live *l, const struct us_live_view *v,
		   struct us_live_vcpu *ret, unsigned n)
{
	uint64_t from, to;
	us_live_times(l, v, &from, &to);
	memset(ret, 0, n * sizeof(*ret));
	for (unsigned i = 0; i < n && i < US_MAX_VCPUS; i++) {
		const struct us_sample *s = &l->last[i];
		if (!s->weight)
			continue;
		ret[i].seen = true;
		ret[i].t_ns = s->t_ns;
		ret[i].state = (enum us_vcpu_state)s->state;
	}
	for (uint64_t i = l->n; i-- > l->first;) {
		const struct us_sample *s = us_live_sample_at(l, i);
		if (s->vcpu < n && s->t_ns >= from && s->t_ns < to)
			add(l, s, &ret[s->vcpu]);
	}
}
