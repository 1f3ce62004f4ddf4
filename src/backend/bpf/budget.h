/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * budget.h: how often to sample without exceeding the budget.
 *
 * The programs themselves keep what they take from a vCPU within the budget in each
 * second (struct us_bpf_row): a sample for which there is no credit left is not taken,
 * and counted.  To make this rare, and to keep samples evenly spaced, the period is
 * lengthened when samples cost more than the budget allows, and shortened again when
 * they cost much less.
 */
#ifndef US_BACKEND_BPF_BUDGET_H
#define US_BACKEND_BPF_BUDGET_H

#include "backend/backend.h"

struct us_bpf_budget {
	uint32_t ppm;	    /* of each vCPU's time; 0: no limit */
	unsigned n_vcpu;    /* vCPUs that are sampled */
	uint64_t asked_ns;  /* between two samples */
	uint64_t period_ns; /* the same, lengthened if need be */
	uint64_t settled_ns;
	/* Since settled_ns: samples, their cost, and those without credit. */
	uint64_t n_sample, cost_ns, n_skipped;
	double sample_ns;   /* what a sample cost when there last was one */
	uint64_t backed_ns; /* samples lost to a longer period, not yet a whole one */
};

void us_bpf_budget_start(struct us_bpf_budget *b, uint64_t period_ns, uint32_t ppm,
			 unsigned n_vcpu, uint64_t now_ns);

/* Hot path: a sample took that long. */
static inline void us_bpf_budget_sample(struct us_bpf_budget *b, uint64_t cost_ns)
{
	b->n_sample++;
	b->cost_ns += cost_ns;
}

/*
 * Call it from time to time.  n_skipped: samples since the last call that had no
 * credit.  Returns how many samples those and a longer period have cost since then.
 * *changed: period_ns has changed.
 */
uint64_t us_bpf_budget_settle(struct us_bpf_budget *b, uint64_t now_ns,
			      uint64_t n_skipped, bool *changed);

#endif
