/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session.h: a KVM guest that the host's kernel samples: its vCPUs with their timers
 * and clocks, what is due, and what was counted.  bpf.c begins and ends it, and takes
 * samples from the ring; settle.h is about time in which no timer ticks.
 */
#ifndef US_BACKEND_BPF_SESSION_H
#define US_BACKEND_BPF_SESSION_H

#include "backend/bpf/budget.h"
#include "backend/bpf/machine.h"
#include "backend/bpf/pace.h"
#include "backend/bpf/place.h"
#include "backend/bpf/roots.h"
#include "backend/bpf/sample.h"
#include "backend/bpf/stack_need.h"
#include "backend/bpf/timer.h"
#include "backend/bpf/vcpu_clock.h"
#include "backend/bpf/vmx.h"
#include "backend/bpf/wait.h"
#include "base/clock.h"

#define US_BPF_PLUG_NS US_NS_PER_SEC /* how often to look for new vCPUs */

/* The last sample, with the data that follows it. */
union us_bpf_sample_buffer {
	struct us_bpf_sample sample;
	uint8_t bytes[US_BPF_MAX_SAMPLE];
};

struct us_bpf_session {
	struct us_backend base;
	int pidfd;
	enum us_bpf_host host;
	struct us_bpf_machine machine;
	struct us_bpf_timer timer[US_MAX_VCPUS];
	struct us_vcpu_clock clock[US_MAX_VCPUS];
	struct us_bpf_vmx *vmx; /* NULL: on another host */
	struct us_schedule schedule;
	bool chosen[US_MAX_VCPUS];
	unsigned n_chosen;
	struct us_bpf_budget budget;
	struct us_bpf_pace pace[US_MAX_VCPUS];
	double due_of_period; /* samples due in each mean period: 1, or more if the
				 kernel's shortest period is too long */
	uint64_t start_ns, settle_ns, settled_ns, placed_ns, plugged_ns;
	uint64_t pause_ns; /* about how often the clocks are settled */
	uint64_t random;
	uint64_t cost_ns; /* of the programs and of samples of stopped vCPUs, since the
			     start */
	uint64_t skipped; /* ticks without credit, as counted so far, as parts of mean
			     periods */
	struct us_bpf_counts zero; /* what they had counted at the start */
	uint64_t gone;		   /* bit n: the thread of vCPU n has ended */
	uint64_t gone_ns;	   /* when the last of these was noticed */
	uint64_t lived_ns;	   /* for how long these were observed */
	struct us_backend_counts counts;
	uint64_t stamp_ns; /* of the samples from settling: before any deadline */
	/* The settled clocks and states from here on still have samples to deliver. */
	unsigned next_slot, next_state;
	bool overdue; /* samples come so fast that the ring is never empty, or one is
			 behind the deadline */
	bool held;    /* `buffer` has a sample of held_vcpu to deliver after settling */
	unsigned held_vcpu;
	int ended;  /* what to return once all is delivered: -ESRCH, -EILSEQ, or 0 */
	bool stale; /* for the current capture, the memory slots were outdated */
	struct us_bpf_need need;
	struct us_host_copy host_copy; /* of the current capture */
	struct us_bpf_roots roots;
	bool plan_has_root; /* pointers are not followed with the sample's root */
	struct us_bpf_wait wait;
	struct us_bpf_place place;
	struct us_err why;
	union us_bpf_sample_buffer buffer;
};

/* Begin to observe the vCPU's thread.  After an error, close its timer and its clock.
 */
int us_bpf_session_open_vcpu(struct us_bpf_session *b, unsigned vcpu, struct us_err *e);

/* Its thread has ended, or ends while it is opened: another one may follow. */
void us_bpf_session_set_gone(struct us_bpf_session *b, unsigned vcpu, uint64_t now_ns);

/* Whether the schedule asks for this vCPU. */
void us_bpf_session_choose(struct us_bpf_session *b, unsigned vcpu);

/* Let the timers of chosen vCPUs tick with another period.  The mean of all periods is
 * the one that fits the budget. */
void us_bpf_session_set_timer(struct us_bpf_session *b, unsigned vcpu);
void us_bpf_session_set_timers(struct us_bpf_session *b);

/* The time that a sample stands for, if none is left out. */
uint64_t us_bpf_session_unit_ns(const struct us_bpf_session *b);

/* When to settle the clocks again. */
uint64_t us_bpf_session_next_settle(struct us_bpf_session *b, uint64_t now_ns);

#endif
