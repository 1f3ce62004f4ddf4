/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvm/thread.h: what the thread of a KVM vCPU is doing, and for how long: read from
 * /proc, without touching the thread.
 */
#ifndef US_BACKEND_KVM_THREAD_H
#define US_BACKEND_KVM_THREAD_H

#include "backend/backend.h"
#include "base/err.h"
#include "vmm/frozen.h"
#include "vmm/guest_list.h"

enum us_kvm_doing {
	US_KVM_RUNNING,	 /* has a CPU or wants one */
	US_KVM_ASLEEP,	 /* blocked, inside KVM_RUN or not */
	US_KVM_VANISHED, /* the thread has ended */
};

enum us_kvm_asleep {
	US_KVM_IN_RUN,	    /* KVM waits for an interrupt for the vCPU */
	US_KVM_IN_RUN_BUSY, /* ... or for a page, or a device */
	US_KVM_IN_VMM,	    /* outside KVM_RUN */
	US_KVM_STOPPED_ALL, /* stopped by a signal, a tracer or the freezer, with the
			       whole VMM */
};

struct us_kvm_thread {
	pid_t tid;
	struct us_vcpu vcpu; /* that it runs, or may run */
	int syscall_fd, stat_fd;
	int schedstat_fd; /* -1: this kernel has none */
	struct us_frozen frozen;
	bool same_place;    /* asleep at the same place as at the last sample */
	char asleep_in[96]; /* the system call, as /proc has it */
};

/* Setup path.  On failure nothing is left to close. */
US_MUST_CHECK int us_kvm_thread_open(struct us_kvm_thread *t, pid_t pid,
				     const struct us_vcpu *which, struct us_err *e);
void us_kvm_thread_close(struct us_kvm_thread *t);

/* Hot path.  *ret_asleep is set for US_KVM_ASLEEP. */
enum us_kvm_doing us_kvm_thread_peek(struct us_kvm_thread *t,
				     enum us_kvm_asleep *ret_asleep);

/*
 * Hot path: since the thread began, how long it ran on a CPU, and how long it waited
 * for one (Documentation/scheduler/sched-stats.rst).  The run time lags by up to a tick
 * of the host's scheduler.  False, and zeroes: not known.
 */
bool us_kvm_thread_times(const struct us_kvm_thread *t, uint64_t *ret_run_ns,
			 uint64_t *ret_wait_ns);

/* Hot path: was the thread in KVM_RUN of its vCPU at the last peek? */
bool us_kvm_thread_is_in_run(const struct us_kvm_thread *t);

/*
 * Hot path: why it is asleep outside KVM_RUN, by the last peek and the reason for which
 * the vCPU last left KVM_RUN.
 *
 * - US_VCPU_HALTED: it waits on the guest's behalf.  Not all guests use HLT for that: a
 *   unikernel may ask its VMM to wait for input or a time (Solo5, on hvt), which does
 *   it with poll().
 * - US_VCPU_OFF: it has ended, or stays there because its owner has paused it.
 * - US_VCPU_EXIT: the VMM does something for it.
 */
enum us_vcpu_state us_kvm_thread_in_vmm(const struct us_kvm_thread *t,
					uint32_t exit_reason);

/* Does a thread wait for events or a time, by the text of /proc/PID/task/TID/syscall?
 */
bool us_kvm_awaits_events(const char *line);

/* The descriptor of the vCPU that a thread runs, from the text of
 * /proc/PID/task/TID/syscall, "16 0xFD 0xae80 ..." (proc(5): number and arguments); -1:
 * it is not in KVM_RUN. */
long us_kvm_fd_of_run(const char *line);

#endif
