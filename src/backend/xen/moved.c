/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/moved.c: see xen/moved.h. */
#include "backend/xen/moved.h"

#include <string.h>

static bool is_close(const struct us_xen_moved *m, uint64_t now_ns)
{
	return now_ns < m->last_ns + US_XEN_MOVED_NS;
}

uint64_t us_xen_moved_ask(const struct us_xen_moved *m, uint64_t mask, uint64_t now_ns)
{
	return mask & ~(m->trusted | (is_close(m, now_ns) ? 0 : m->short_of_time));
}

/* Do these registers show that the vCPU has run since and does not wait? */
static bool is_moving(const struct us_xen_moved *m, unsigned v, const struct us_regs *r)
{
	const struct us_xen_seen *s = &m->seen[v];
	if (!(m->known >> v & 1) || (!r->user && r->gpr[US_X86_RCX] == r->pc))
		return false;
	return s->pc != r->pc || memcmp(s->gpr, r->gpr, sizeof(s->gpr)) != 0;
}

/* Has it run since the previous sample?  Not if all of its run time may be from before
 * that sample. */
static bool has_run(const struct us_xen_moved *m, const struct us_xen_seen *s,
		    const struct us_xen_vcpu *now)
{
	uint64_t before = m->last_ns > s->asked_ns ? m->last_ns - s->asked_ns : 0;
	return now->running || now->ran_ns - s->ran_ns > before;
}

static void keep(struct us_xen_moved *m, unsigned v, const struct us_regs *r)
{
	m->seen[v].pc = r->pc;
	memcpy(m->seen[v].gpr, r->gpr, sizeof(m->seen[v].gpr));
	m->known |= 1ULL << v;
}

void us_xen_moved_tell(struct us_xen_moved *m, const struct us_xen_calls *calls,
		       void *handle, const struct us_xen_domain *d,
		       struct us_xen_sample *l, uint64_t mask, uint64_t now_ns)
{
	uint64_t had = d->kind == US_XEN_PV ? l->regs_read : 0, trusted = 0;
	uint64_t may = is_close(m, now_ns) ? m->trusted | m->short_of_time : 0;
	m->ran = m->short_of_time = 0;
	for (uint64_t left = mask; left; left &= left - 1) {
		unsigned v = (unsigned)__builtin_ctzll(left);
		uint64_t bit = 1ULL << v;
		const struct us_regs *r = &l->reg[v];
		struct us_xen_vcpu *info = &l->vcpu[v];
		bool read = had & bit && l->regs_code[v] == 0;
		bool moving = read && is_moving(m, v, r);
		if (read)
			keep(m, v, r);
		else
			m->known &= ~bit;
		if (moving && !(l->vcpus & bit)) {
			*info = (struct us_xen_vcpu){ .online = true };
			l->vcpus_known |= bit;
			m->ran |= bit;
			trusted |= bit;
			continue;
		}
		/* A vCPU that was woken between the question and the pause has moved,
		 * too: ask again. */
		bool again = moving && l->vcpus_known & bit && info->blocked;
		if (again || !(l->vcpus & bit)) {
			l->vcpus_known &= ~bit;
			if (calls->vcpu(handle, d->id, v, info) == 0)
				l->vcpus_known |= bit;
		}
		if (!(l->vcpus_known & bit))
			continue;
		m->off |= again && info->blocked;
		if (has_run(m, &m->seen[v], info))
			m->ran |= bit;
		m->seen[v].ran_ns = info->ran_ns;
		m->seen[v].asked_ns = now_ns;
		if (!read || !info->online || info->blocked)
			continue;
		if (moving)
			trusted |= bit;
		else
			m->short_of_time |= may & bit;
	}
	if (m->off)
		m->short_of_time = 0;
	m->trusted = m->off ? 0 : trusted;
	m->last_ns = now_ns;
}
