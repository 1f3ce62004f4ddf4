/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rests.c: see rests.h. */
#include "profile/rests.h"

bool us_rests_clip(struct us_rests *r, struct us_sample *s, uint64_t from_ns,
		   uint64_t to_ns)
{
	struct us_rest *of = &r->of[s->vcpu < US_MAX_VCPUS ? s->vcpu : 0];
	if (s->t_ns < of->end_ns) /* another recording */
		*of = (struct us_rest){ 0 };
	if (s->t_ns > of->end_ns)
		*of = (struct us_rest){ of->end_ns, s->t_ns };
	uint64_t begin = of->begin_ns > from_ns ? of->begin_ns : from_ns;
	uint64_t end = to_ns && to_ns < of->end_ns ? to_ns : of->end_ns;
	if (begin >= end)
		return false;
	double part = (double)(end - begin) / (double)(of->end_ns - of->begin_ns);
	s->weight = (uint32_t)((double)s->weight * part + 0.5);
	s->t_ns = end == to_ns ? end - 1 : end;
	return s->weight > 0;
}
