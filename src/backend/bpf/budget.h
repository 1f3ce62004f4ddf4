/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * budget.h: how often to sample, so that samples take no more than they may.
 *
 * The programs themselves see to it that what they take of a vCPU stays within the
 * budget in each second (struct us_bpf_row): a look for which there is no credit left
 * is not taken, and counted.  So that this seldom happens, and samples stay even, the
 * period is made longer when they cost more than the budget has, and shorter again
 * when they cost much less.
 */
#ifndef US_BACKEND_BPF_BUDGET_H
#define US_BACKEND_BPF_BUDGET_H

#include "backend/backend.h"

struct us_bpf_budget {
	uint32_t ppm;	    /* of each vCPU's time; 0: no bound */
	unsigned n_vcpu;    /* that are looked at */
	uint64_t asked_ns;  /* between two samples */
	uint64_t period_ns; /* the same, made longer if it must be */
	uint64_t settled_ns;
	/* Since then: samples, what they took, and those without credit. */
	uint64_t n_sample, cost_ns, n_skipped;
	uint64_t backed_ns; /* samples that a longer period cost, not yet a whole one */
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
 * From time to time; n_skipped: samples since the last time that had no credit.  How
 * many samples a longer period and those have cost since then.  *changed: period_ns is
 * another from now on.
 */
uint64_t us_bpf_budget_settle(struct us_bpf_budget *b, uint64_t now_ns,
			      uint64_t n_skipped, bool *changed);

#endif
