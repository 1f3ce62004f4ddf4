/* SPDX-License-Identifier: GPL-2.0-or-later */
/* late.c: see late.h. */
#include "profile/late.h"

#include <string.h>

static uint64_t bit_of(uint16_t vcpu)
{
	return 1ULL << (vcpu & 63);
}

bool us_late_keep(struct us_late *l, const struct us_sample *s)
{
	if (l->n == US_LATE_MOST)
		return false;
	l->v[l->n++] = *s;
	l->vcpus |= bit_of(s->vcpu);
	return true;
}

bool us_late_take(struct us_late *l, uint16_t vcpu, struct us_sample *ret)
{
	bool any = vcpu == UINT16_MAX;
	if (!any && !(l->vcpus & bit_of(vcpu)))
		return false;
	for (unsigned i = 0; i < l->n; i++) {
		if (!any && l->v[i].vcpu != vcpu)
			continue;
		*ret = l->v[i];
		l->n--;
		memmove(&l->v[i], &l->v[i + 1], (l->n - i) * sizeof(l->v[0]));
		return true;
	}
	/* A sample of another vCPU with the same bit may remain. */
	if (!l->n)
		l->vcpus = 0;
	return false;
}
