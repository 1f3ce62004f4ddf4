/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvm/vcpu.h: one vCPU of a KVM guest: its thread, and the page it shares with KVM.
 *
 * Registers come from struct kvm_run (Linux, include/uapi/linux/kvm.h): KVM stores them
 * there at each exit to user space if kvm_valid_regs asks for it (KVM_CAP_SYNC_REGS).
 * A ptrace stop of the thread forces the exit.  The thread is traced only for the
 * length of a sample: between samples its signals are delivered as usual, other tracers
 * may attach, and it runs on even if we die.
 *
 * Only kvm_valid_regs and the register copy in kvm_run.s are written; the last bytes of
 * the copy carry our mark.  kvm_dirty_regs, which would load the copy into the guest,
 * is never written.
 */
#ifndef US_BACKEND_KVM_VCPU_H
#define US_BACKEND_KVM_VCPU_H

#include "backend/backend.h"
#include "backend/kvm/patience.h"
#include "backend/kvm/thread.h"
#include "backend/kvm/vcpu_file.h"

#include <linux/kvm.h>

enum us_kvm_hold {
	US_KVM_FREE,	/* not traced */
	US_KVM_ASKED,	/* traced and asked to stop; has not stopped yet */
	US_KVM_STOPPED, /* stopped: must be resumed */
};

struct us_kvm_vcpu {
	pid_t tid; /* 0: no thread is known to run it; then only its page is read */
	struct us_kvm_thread thread;
	struct us_kvm_vcpu_file file;
	uint64_t looked_ns; /* when it was last asked whether the VMM still has it */
	bool ran;	    /* it had left KVM_RUN before it was asked to stop */
	struct us_kvm_patience patience;
	struct kvm_run *run;	   /* shared with KVM and the VMM */
	uint32_t old_valid;	   /* kvm_valid_regs as we found it */
	struct kvm_sync_regs *old; /* the register copy as we found it */
	bool seen;		   /* KVM has stored registers since then */
	bool matched;		   /* the thread was found to run this vCPU */
	bool proven;  /* it was matched at some time: the thread's name was right */
	bool suspect; /* the thread seemed to sleep at the last sample while the vCPU
			 ran */
	unsigned n_missed;  /* searches in a row that did not find the thread it runs in
			     */
	uint64_t asleep_ns; /* CPU time of the thread, if asleep at the last sample; or
			       0 */
	bool idles;	    /* it was seen to have halted so that the VMM waits */
	bool asked_start;   /* it was stopped in its sleep, to know whether it was ever
			       started */
	bool unstarted;	    /* it was not */
	uint64_t unstarted_ns; /* CPU time of the thread since then; 0: not yet read */
	uint8_t hold;	       /* enum us_kvm_hold */
	bool nested;	       /* when last read, it ran a guest of its own */
	bool group_stop;       /* stopped because its owner stopped the VMM */
	int signal;	       /* a signal that came before the stop: to be passed on */
	uint64_t asked_ns;     /* when it was asked to stop */
	uint64_t stopped_ns;   /* when it had stopped */
	uint64_t delay_ns; /* total time that it had waited for host CPUs before that */
	uint64_t run_ns;   /* CPU time of the thread, then */
	uint64_t waited_ns; /* part of asked_ns to stopped_ns: waiting for a host CPU */
	uint64_t awake_ns;  /* set by the caller: since when it has had a CPU itself */
	uint64_t patience_ns; /* set by the caller: for how long to sleep for a stop;
				 0: until it comes, or a signal */
	uint64_t woke_ns;     /* when the caller's thread woke up to see the stop; 0: it
				 did not have to sleep */
	bool is_pressed;      /* it waited for a CPU between the last two requests */
	bool had_no_cpu;      /* this thread waited for one already then */
	uint64_t held_max_ns; /* the longest time that a release returned, also one by
				 us_kvm_vcpu_settle() */
	unsigned n_due; /* samples lost since it was asked to stop; kept by the caller
			 */
};

/* Map the page of a vCPU of the process behind pidfd, in the thread that stops it.  On
 * failure nothing is left to close. */
US_MUST_CHECK int us_kvm_vcpu_open(struct us_kvm_vcpu *v, int pidfd, pid_t pid,
				   const struct us_vcpu *which, struct us_err *e);
/* Detaches from the thread and restores the page.  Accepts zeroed memory. */
void us_kvm_vcpu_close(struct us_kvm_vcpu *v);

/* Set the thread that runs it: which->tid; with 0 and on failure, no thread is known.
 */
US_MUST_CHECK int us_kvm_vcpu_set_thread(struct us_kvm_vcpu *v, pid_t pid,
					 const struct us_vcpu *which, struct us_err *e);

/* Hot path: has it left KVM_RUN since it was stopped or since the last call, in
 * whichever thread? */
bool us_kvm_vcpu_has_run(struct us_kvm_vcpu *v);

/*
 * Hot path: is it idle, as far as its page tells?  Where the VMM has the interrupt
 * controller, each HLT is an exit; the page says so until the vCPU runs again, with
 * older kernels until its next exit.
 */
bool us_kvm_vcpu_has_halted(struct us_kvm_vcpu *v);

/*
 * Hot path, once for each sample that finds the thread asleep: has another thread run
 * the vCPU meanwhile, or does this one sleep in KVM_RUN of another vCPU?
 */
bool us_kvm_vcpu_is_elsewhere(struct us_kvm_vcpu *v);

/*
 * Hot path, behind us_kvm_vcpu_is_elsewhere(), for a vCPU that is asleep in KVM_RUN:
 * must it be stopped to know whether it was ever started?  One that waits for its start
 * (INIT, SIPI) sleeps like one that halted; only its registers show it.  True until
 * us_kvm_vcpu_note_start() was called, and again whenever a thread of a vCPU that was
 * not started has run: others kick it, too.
 */
bool us_kvm_vcpu_asks_start(struct us_kvm_vcpu *v);
/* Its registers, if there are any, say that it was not started. */
void us_kvm_vcpu_note_start(struct us_kvm_vcpu *v, bool unstarted);

/* Hot path. *ret_state is set for US_KVM_ASLEEP. */
enum us_kvm_doing us_kvm_vcpu_peek(struct us_kvm_vcpu *v,
				   enum us_vcpu_state *ret_state);

/*
 * Hot path: stop the thread.  0: it is stopped; -EINTR: it did not stop within a tenth
 * of a second after a signal for us, or within two: call us_kvm_vcpu_settle() later;
 * also if this process is about to be stopped (base/job_stop.h); -ESRCH: it has ended;
 * -EPERM: another tracer has it.
 */
int us_kvm_vcpu_stop(struct us_kvm_vcpu *v);
/* Hot path: has a thread stopped that us_kvm_vcpu_stop() gave up on? */
bool us_kvm_vcpu_has_stopped(struct us_kvm_vcpu *v);
/* Hot path: resume it if it has. */
void us_kvm_vcpu_settle(struct us_kvm_vcpu *v);
/* Hot path, of a stopped vCPU: did its thread have no CPU for most of the time that the
 * stop took?  It may have lost its CPU only because the caller woke up. */
bool us_kvm_vcpu_has_waited(const struct us_kvm_vcpu *v);
/* Hot path, of one that is still to stop: has its thread had no CPU since it was asked?
 * False as well for some 20 ms, in which it could not be known. */
bool us_kvm_vcpu_still_waits(struct us_kvm_vcpu *v);
/*
 * Hot path: resume it.  Returns the time taken from the guest: from the request to stop
 * until now, without the part in which it would have waited for a host CPU anyway.
 */
uint64_t us_kvm_vcpu_release(struct us_kvm_vcpu *v);

/*
 * Hot path: the registers of a stopped vCPU.  When it was asked to stop,
 *
 * - US_VCPU_GUEST: it was running guest code;
 * - US_VCPU_READY: it would have been, but had no host CPU then;
 * - US_VCPU_EXIT: it had left the guest already, for the VMM to do something.  The
 *   registers are those of that exit.
 *
 * *ret_regs is false if there are none: KVM has not stored any yet; or v->nested: they
 * are those of a guest that runs in this guest, which the kernel tells since
 * Linux 6.11.
 */
enum us_vcpu_state us_kvm_vcpu_read(struct us_kvm_vcpu *v, struct us_regs *regs,
				    bool *ret_regs);

/*
 * Hot path: has the VMM closed it?  Then the page shows what a machine that is gone did
 * last.  Of a stopped vCPU for which KVM has stored no registers it is asked, unless
 * it was a moment ago and KVM had stored some since the stop before; else once a
 * second.
 */
bool us_kvm_vcpu_is_closed(struct us_kvm_vcpu *v);

/* Does the stopped thread run this vCPU?  False: it was found to run another one. */
bool us_kvm_vcpu_check_thread(struct us_kvm_vcpu *v);

#endif
