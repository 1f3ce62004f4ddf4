/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vcpu_clock.h: where a vCPU's time went when no tick could tell.
 *
 * Ticks count the time in which the thread runs on a host CPU, and their timer says how
 * much that was.  In the rest of the time the thread waits for a CPU, for which the
 * kernel's scheduler keeps a sum, or it sleeps, and uniscope checks from time to time
 * where.  Each period of each kind is one due sample, so that together they make up the
 * time that passed.
 */
#ifndef US_BACKEND_BPF_VCPU_CLOCK_H
#define US_BACKEND_BPF_VCPU_CLOCK_H

#include "backend/backend.h"
#include "backend/bpf/timer.h"
#include "backend/kvm/thread.h"
#include "backend/kvm/vcpu_file.h"

struct us_vcpu_clock {
	struct us_kvm_thread thread;
	const struct us_bpf_timer *timer; /* the thread's */
	/* What KVM tells the VMM of the vCPU: only read; NULL: it cannot be. */
	const struct kvm_run *run;
	struct us_kvm_vcpu_file file;
	uint64_t lived_ns; /* when the VMM was last seen to have the vCPU's file */
	bool open, gone;   /* gone: its thread has ended, or it is closed */
	bool closed;	   /* the VMM has no longer its file */
	bool not_run; /* no thread has run it yet, and none is open: it counts as off */
	bool away;    /* it slept outside KVM_RUN when it was last settled */
	bool off;     /* not started: its sleep does not count as idle */
	uint64_t from_ns;	      /* since when it counts */
	uint64_t run_ns, wait_ns;     /* the timer's and the scheduler's sums then */
	uint64_t slept_ns, waited_ns; /* since then, as reported so far */
	uint64_t ticked_ns;	      /* time that ticks stood for */
	uint64_t late_ns; /* time that they should have stood for and did not */
	/* At the last settling: its time, how long the thread had run, and what the
	 * ticks up to then stand for, of which some may still be under way. */
	uint64_t then_ns, ran_then_ns, ticked_then_ns;
	/* Since when it was found waiting for a CPU, and how long it had run and waited
	 * then; 0: it was not. */
	uint64_t stuck_ns, stuck_run_ns, stuck_wait_ns;
	/* Not yet a whole sample, by enum us_vcpu_state. */
	uint64_t credit_ns[US_N_VCPU_STATE];
	enum us_kvm_doing doing; /* at the last sample */
};

US_MUST_CHECK int us_vcpu_clock_open(struct us_vcpu_clock *c, pid_t pid,
				     const struct us_vcpu *which,
				     const struct us_bpf_timer *timer,
				     struct us_err *e);
void us_vcpu_clock_close(struct us_vcpu_clock *c); /* accepts zeroed memory */

/* Count from now on. */
void us_vcpu_clock_start(struct us_vcpu_clock *c, uint64_t now_ns);

/* A tick was seen, which stands for period_ns up to t_ns. */
void us_vcpu_clock_tick(struct us_vcpu_clock *c, uint64_t t_ns, uint64_t period_ns);

/*
 * Hot path: did the VMM still have this vCPU at t_ns, when a sample was taken?  One
 * system call for all samples up to the call.  A thread that goes on with the vCPU of
 * another machine has ticks that show the last registers of this one; then it is gone.
 */
bool us_vcpu_clock_lived(struct us_vcpu_clock *c, uint64_t t_ns);

/* Read the timer and the scheduler's sums.  Afterwards us_vcpu_clock_take() returns
 * what is due.  period_ns: the longest period.  arrived: all ticks up to the call
 * before were seen, so that those that are missing are late. */
void us_vcpu_clock_settle(struct us_vcpu_clock *c, uint64_t now_ns, uint64_t period_ns,
			  bool arrived);

/* Samples that are due in a state that ticks do not see: HALTED, READY, OFF, EXIT.
 * With US_VCPU_GUEST: ticks that should have come and did not. */
uint32_t us_vcpu_clock_take(struct us_vcpu_clock *c, enum us_vcpu_state state,
			    uint64_t period_ns);

#endif
