/* SPDX-License-Identifier: GPL-2.0-or-later */
/* time_split.c: see time_split.h. */
#include "profile/time_split.h"

#include "profile/profile_priv.h"

#include <stdlib.h>

const char *us_time_part_name(enum us_time_part part)
{
	static const char *const names[US_N_TIME] = {
		[US_TIME_GUEST] = "guest",
		[US_TIME_KVM] = "in KVM",
		[US_TIME_VMM] = "in the VMM",
		[US_TIME_KERNEL] = "in the host kernel",
		[US_TIME_EXIT] = "in KVM or the VMM",
		[US_TIME_READY] = "waiting for a host CPU",
		[US_TIME_IDLE] = "idle",
		[US_TIME_OFF] = "off",
		[US_TIME_UNSEEN] = "not looked at",
	};
	return names[part];
}

/* The time between two samples that are due. */
static double unit_of(const struct us_profile *p)
{
	const struct us_record_stats *s = &us_profile_summary(p)->stats;
	if (p->scaled_ns > 0)
		return p->scaled_ns * (1 - p->missing_share);
	const char *hz = us_profile_fact(p, "hz");
	double rate = hz ? strtod(hz, NULL) : 0;
	if (rate > 0 && rate <= 1e9)
		return 1e9 / rate;
	return s->due ? (double)s->vcpu_ns / (double)s->due : 0;
}

static void add_exits(const struct us_profile_time *t, struct us_time_split *ret)
{
	static const uint8_t part_of[US_N_PLACE] = {
		[US_PLACE_HYPERVISOR] = US_TIME_KVM,
		[US_PLACE_VMM] = US_TIME_VMM,
		[US_PLACE_KERNEL] = US_TIME_KERNEL,
	};
	for (int reason = 0; reason < US_N_EXIT; reason++)
		for (int place = 0; place < US_N_PLACE; place++) {
			double ns = (double)t->exit[reason][place] * ret->unit_ns;
			ret->part_ns[part_of[place]] += ns;
			ret->exit_ns[reason] += ns;
			ret->told |= t->exit[reason][place] != 0;
		}
}

void us_time_split(const struct us_profile *p, struct us_time_split *ret)
{
	const struct us_profile_summary *s = us_profile_summary(p);
	const struct us_record_stats *k = &s->stats;
	const struct us_profile_time *t = &s->time;
	*ret = (struct us_time_split){ .unit_ns = unit_of(p) };
	double unit = ret->unit_ns;
	add_exits(t, ret);
	ret->part_ns[US_TIME_GUEST] = (double)t->guest * unit;
	ret->part_ns[US_TIME_EXIT] = (double)t->exit_untold * unit;
	ret->part_ns[US_TIME_READY] = (double)t->ready * unit;
	ret->part_ns[US_TIME_IDLE] = (double)s->idle * unit;
	ret->part_ns[US_TIME_OFF] = (double)s->off * unit;
	if (t->whole && s->has_stats && s->file.ended && p->scaled_ns > 0) {
		ret->wall_ns = (double)k->vcpu_ns;
		ret->part_ns[US_TIME_UNSEEN] = ret->wall_ns * p->missing_share;
	} else if (t->whole && s->has_stats && s->file.ended) {
		uint64_t unseen = k->late + k->backed_off + k->failed + k->lost;
		ret->part_ns[US_TIME_UNSEEN] = (double)unseen * unit;
		ret->wall_ns = (double)k->vcpu_ns;
	}
	for (int i = 0; i < US_N_TIME; i++)
		ret->sum_ns += ret->part_ns[i];
}
