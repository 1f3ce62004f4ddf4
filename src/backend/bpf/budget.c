/* SPDX-License-Identifier: GPL-2.0-or-later */
/* budget.c: see budget.h. */
#include "backend/bpf/budget.h"

#define MAX_STRETCH 64
#define TARGET	    0.9 /* of the budget: samples do not all cost the same */

void us_bpf_budget_start(struct us_bpf_budget *b, uint64_t period_ns, uint32_t ppm,
			 unsigned n_vcpu, uint64_t now_ns)
{
	*b = (struct us_bpf_budget){ .ppm = ppm,
				     .n_vcpu = n_vcpu,
				     .asked_ns = period_ns,
				     .period_ns = period_ns,
				     .settled_ns = now_ns };
}

/* What all samples would have cost if each had had credit, as a part of what they may
 * cost. */
static double share(struct us_bpf_budget *b, double wall_ns, uint64_t n_skipped)
{
	if (b->n_sample)
		b->sample_ns = (double)b->cost_ns / (double)b->n_sample;
	double wanted = (double)b->cost_ns + b->sample_ns * (double)n_skipped;
	return wanted / wall_ns * 1e6 / b->ppm / TARGET;
}

static uint64_t fitting_period(const struct us_bpf_budget *b, double of_budget)
{
	uint64_t period = b->period_ns, most = b->asked_ns * MAX_STRETCH;
	if (of_budget > 1)
		period = (uint64_t)((double)period * (of_budget > 2 ? 2 : of_budget));
	else if (of_budget < 0.5)
		period = period * 3 / 4;
	return period < b->asked_ns ? b->asked_ns : period > most ? most : period;
}

uint64_t us_bpf_budget_settle(struct us_bpf_budget *b, uint64_t now_ns,
			      uint64_t n_skipped, bool *changed)
{
	double wall = (double)(now_ns - b->settled_ns) * b->n_vcpu;
	uint64_t period = b->period_ns;
	double missing = wall * (1 - (double)b->asked_ns / (double)period);
	b->backed_ns += (uint64_t)missing;
	uint64_t samples = b->backed_ns / b->asked_ns;
	b->backed_ns -= samples * b->asked_ns;
	if (b->ppm && wall > 0)
		period = fitting_period(b, share(b, wall, n_skipped));
	*changed = period != b->period_ns;
	b->period_ns = period;
	b->settled_ns = now_ns;
	b->n_sample = b->cost_ns = 0;
	return samples + n_skipped;
}
