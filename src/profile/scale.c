/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/scale.c: see scale.h. */
#include "profile/scale.h"

#include "profile/profile_priv.h"

#include "base/random.h"

#define SAME 1.02 /* no more than that: what chance and the end of a recording do */
#define MOST 1e6

/* The time that a sample stands for; 0: not known, or there is none. */
static double unit_of(const struct us_profile_file *f)
{
	uint64_t taken = f->stats.running + f->stats.idle + f->stats.off;
	if (f->has_stats)
		return taken ? (double)f->stats.vcpu_ns / (double)taken : 0;
	return f->hz > 0 ? 1e9 / f->hz : 0;
}

static double not_taken_ns(const struct us_profile_file *f)
{
	const struct us_record_stats *s = &f->stats;
	uint64_t n = s->late + s->backed_off + s->failed + s->lost;
	double ns = f->hz > 0 ? (double)n / f->hz * 1e9 : 0;
	return ns < (double)s->vcpu_ns ? ns : (double)s->vcpu_ns;
}

static void set_units(struct us_profile *p, double unit_ns)
{
	double all_ns = 0, missing_ns = 0;
	p->scaled_ns = unit_ns;
	for (size_t i = 0; i < p->n_file; i++) {
		struct us_profile_file *f = &p->file[i];
		double scale = unit_of(f) / unit_ns;
		p->recording[i].scale = scale > MOST ? MOST : scale > SAME ? scale : 1;
		all_ns += (double)f->stats.vcpu_ns;
		missing_ns += not_taken_ns(f);
	}
	p->missing_share = all_ns > 0 ? missing_ns / all_ns : 0;
}

void us_profile_find_scales(struct us_profile *p)
{
	double least = 0, most = 0, hz = p->file[0].hz;
	bool same = true;
	for (size_t i = 0; i < p->n_file; i++)
		p->recording[i].scale = 1;
	for (size_t i = 0; i < p->n_file && p->n_file > 1; i++) {
		double unit = unit_of(&p->file[i]);
		if (p->file[i].left_out || !(unit > 0))
			continue;
		same &= p->file[i].hz == hz;
		least = least > 0 && least < unit ? least : unit;
		most = most > unit ? most : unit;
	}
	if (least > 0 && (!same || most > least * SAME))
		set_units(p, least);
}

uint32_t us_profile_scaled(struct us_profile *p, uint32_t weight)
{
	double scale = p->recording[p->file_now].scale;
	if (scale <= 1)
		return weight;
	double n = weight * scale + us_random_share(&p->scale_random);
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}
