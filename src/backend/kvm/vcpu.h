/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvm/vcpu.h: one vCPU of a KVM guest: its thread, and the page it shares with KVM.
 *
 * Registers come from struct kvm_run (Linux, include/uapi/linux/kvm.h): KVM stores
 * them there at each exit to user space if kvm_valid_regs asks for it
 * (KVM_CAP_SYNC_REGS).  The exit is forced by a ptrace stop of the thread, which is
 * traced only for the length of a sample: between samples its signals go their way,
 * other tracers may attach, and it takes no death of ours to resume it.
 *
 * Written are only kvm_valid_regs and the register copy in kvm_run.s, whose last bytes
 * carry our mark; kvm_dirty_regs, which would load the copy into the guest, never.
 */
#ifndef US_BACKEND_KVM_VCPU_H
#define US_BACKEND_KVM_VCPU_H

#include "backend/backend.h"
#include "backend/kvm/thread.h"

#include <linux/kvm.h>

enum us_kvm_hold {
	US_KVM_FREE,	/* not traced */
	US_KVM_ASKED,	/* traced and asked to stop; has not stopped yet */
	US_KVM_STOPPED, /* stopped: must be resumed */
};

struct us_kvm_vcpu {
	pid_t tid; /* 0: no thread is known to run it; then only its page is seen */
	struct us_kvm_thread thread;
	struct kvm_run *run;	   /* shared with KVM and the VMM */
	uint32_t old_valid;	   /* kvm_valid_regs as we found it */
	struct kvm_sync_regs *old; /* the register copy as we found it */
	bool seen;		   /* KVM has stored registers since then */
	bool matched;		   /* the thread was found to run this vCPU */
	bool proven;		   /* it was, at some time: its name told no lie */
	bool suspect; /* it seemed to sleep at the last sample while that ran */
	uint64_t
		asleep_ns; /* CPU time of the thread, asleep at the last sample; or 0 */
	uint8_t hold;	   /* enum us_kvm_hold */
	bool group_stop;   /* stopped because its owner stopped the VMM */
	int signal;	   /* met on the way to the stop: to be passed on */
	uint64_t asked_ns; /* when it was asked to stop */
	uint64_t stopped_ns; /* when it had */
	uint64_t delay_ns;   /* its waiting for host CPUs before that, in all */
	uint64_t waited_ns;  /* of asked to stopped: waiting for a host CPU */
};

/* Map the page of a vCPU of the process behind pidfd.  On failure nothing is left. */
US_MUST_CHECK int us_kvm_vcpu_open(struct us_kvm_vcpu *v, int pidfd, pid_t pid,
				   const struct us_vcpu *which, struct us_err *e);
/* Lets the thread go, puts the page back as it was. Accepts zeroed memory. */
void us_kvm_vcpu_close(struct us_kvm_vcpu *v);

/* From now on it is run by which->tid, or, with 0 and on failure, by nobody known. */
US_MUST_CHECK int us_kvm_vcpu_set_thread(struct us_kvm_vcpu *v, pid_t pid,
					 const struct us_vcpu *which, struct us_err *e);

/* Hot path: has it left KVM_RUN since it was stopped or asked this, whoever ran it? */
bool us_kvm_vcpu_has_run(struct us_kvm_vcpu *v);

/*
 * Hot path, once for each sample that finds the thread asleep: has another thread run
 * the vCPU meanwhile, or does this one sleep in KVM_RUN of another vCPU?
 */
bool us_kvm_vcpu_is_elsewhere(struct us_kvm_vcpu *v);

/* Hot path. *ret_state is set for US_KVM_ASLEEP. */
enum us_kvm_doing us_kvm_vcpu_peek(struct us_kvm_vcpu *v,
				   enum us_vcpu_state *ret_state);

/*
 * Hot path: stop the thread.  0: it is stopped; -EINTR: not within a tenth of a second
 * after a signal came for us, us_kvm_vcpu_settle() it later; -ESRCH: it has ended;
 * -EPERM: another tracer has it.
 */
int us_kvm_vcpu_stop(struct us_kvm_vcpu *v);
/* Resume a thread that has stopped after us_kvm_vcpu_stop() gave up on it. */
void us_kvm_vcpu_settle(struct us_kvm_vcpu *v);
/*
 * Hot path: let it run on.  The time taken from the guest: from the request to stop
 * until now, without the part in which it would have waited for a host CPU anyway.
 */
uint64_t us_kvm_vcpu_release(struct us_kvm_vcpu *v);

/*
 * Hot path: the registers of a stopped vCPU.  US_VCPU_GUEST: it was running guest code
 * when it was asked to stop; US_VCPU_READY: it would have, had it had a host CPU.
 * US_VCPU_EXIT: it had left it before, for the VMM to do
 * something; the registers are those of that exit.  *ret_regs is false if there are
 * none (KVM has not stored any yet).
 */
enum us_vcpu_state us_kvm_vcpu_read(struct us_kvm_vcpu *v, struct us_regs *regs,
				    bool *ret_regs);

/* Does the stopped thread run this vCPU?  False: it was found to run another one. */
bool us_kvm_vcpu_check_thread(struct us_kvm_vcpu *v);

#endif
