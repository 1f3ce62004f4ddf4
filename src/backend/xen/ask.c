/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/ask.c: see xen/ask.h. */
#include "backend/xen/ask.h"

#include <errno.h>

/* The caller reads the registers. */
static void ask_parts(const struct us_xen_calls *calls, void *h,
		      const struct us_xen_domain *d, struct us_xen_sample *l)
{
	if (l->state)
		l->domain_code = calls->domain(h, d->id, &l->domain);
	l->vcpus_known = l->regs_read = 0;
	for (uint64_t left = l->vcpus; left; left &= left - 1) {
		unsigned v = (unsigned)__builtin_ctzll(left);
		if (calls->vcpu(h, d->id, v, &l->vcpu[v]) == 0)
			l->vcpus_known |= 1ULL << v;
	}
	if (l->pause)
		l->pause_code = calls->pause(h, d->id);
}

int us_xen_ask(const struct us_xen_calls *calls, void *handle,
	       const struct us_xen_domain *d, struct us_xen_sample *l, bool *by_parts)
{
	if (calls->sample && !*by_parts) {
		int r = calls->sample(handle, d, l);
		/* A security policy may forbid it. */
		if (r != -ENOSYS && r != -EPERM && r != -EACCES)
			return r;
		*by_parts = true;
	}
	ask_parts(calls, handle, d, l);
	return 0;
}
