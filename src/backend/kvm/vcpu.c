/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/vcpu.c: see kvm/vcpu.h. */
#include "backend/kvm/vcpu.h"
#include "backend/kvm/late_stop.h"
#include "backend/kvm/regs.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/job_stop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PAGE	     4096
#define WANTED	     (KVM_SYNC_X86_REGS | KVM_SYNC_X86_SREGS)
#define PATIENCE_NS  (100 * US_NS_PER_MS) /* for a stop, after a signal */
#define LONG_STOP_NS (20 * US_NS_PER_US)  /* worth asking what it waited for */
#define REAP_NS	     US_NS_PER_SEC
#define LOOK_NS	     US_NS_PER_SEC
#define MOMENT_NS    (10 * US_NS_PER_MS)
#define TICKS_NS     (20 * US_NS_PER_MS) /* a running thread's time has grown by then */
#define POLL_NS	     (100 * US_NS_PER_US)

#ifndef KVM_RUN_X86_GUEST_MODE /* since Linux 6.11 */
#define KVM_RUN_X86_GUEST_MODE (1 << 2)
#endif

_Static_assert(sizeof(struct kvm_run) <= PAGE, "kvm_run must lie in the first page");

/*
 * In the page while uniscope is attached, and left there if uniscope is killed.  The
 * next uniscope then knows that the page is set up by uniscope, and not by a VMM that
 * uses the shared copy itself: such a page must not be touched.
 */
struct mark {
	char magic[8];
	uint64_t old_valid;
};
static const char magic[8] = "uniscope";

static struct mark *mark_of(struct kvm_run *run)
{
	return (struct mark *)(run->s.padding + sizeof(run->s.padding) -
			       sizeof(struct mark));
}

static int take_page(struct us_kvm_vcpu *v, struct us_err *e)
{
	struct mark *mark = mark_of(v->run);
	bool ours = !memcmp(mark->magic, magic, sizeof(magic));
	v->old_valid = ours ? (uint32_t)mark->old_valid
			    : (uint32_t)v->run->kvm_valid_regs;
	if (v->old_valid || v->run->kvm_dirty_regs)
		return us_fail(e, -EBUSY,
			       "the VMM of thread %d itself uses the registers that it "
			       "shares with KVM",
			       v->tid);
	v->old = malloc(sizeof(*v->old));
	if (!v->old)
		return us_fail(e, -ENOMEM, "attach to a vCPU: out of memory");
	*v->old = v->run->s.regs;
	memset(&v->run->s.regs, 0, sizeof(v->run->s.regs));
	memcpy(mark->magic, magic, sizeof(magic));
	mark->old_valid = v->old_valid;
	v->run->kvm_valid_regs |= WANTED;
	return 0;
}

static void give_page_back(struct us_kvm_vcpu *v)
{
	v->run->kvm_valid_regs = v->old_valid;
	v->run->s.regs = *v->old;
	memset(mark_of(v->run), 0, sizeof(struct mark));
}

int us_kvm_vcpu_set_thread(struct us_kvm_vcpu *v, pid_t pid,
			   const struct us_vcpu *which, struct us_err *e)
{
	us_kvm_thread_close(&v->thread);
	v->tid = 0;
	v->matched = v->proven = false;
	v->suspect = false;
	v->asleep_ns = 0;
	v->asked_start = v->unstarted = false;
	int r = which->tid ? us_kvm_thread_open(&v->thread, pid, which, e) : 0;
	if (!r)
		v->tid = which->tid;
	if (v->tid)
		v->n_missed = 0;
	return r;
}

static int open_parts(struct us_kvm_vcpu *v, int pidfd, pid_t pid,
		      const struct us_vcpu *which, struct us_err *e)
{
	_cleanup_close_ int fd = us_kvm_vcpu_file_open(&v->file, pidfd, pid, which);
	if (fd < 0)
		return us_fail(e, fd, "take file %d of pid %d: %s", which->fd, pid,
			       strerror(-fd));
	v->run = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (v->run == MAP_FAILED) {
		v->run = NULL;
		return us_fail(e, -errno, "map the page of vCPU %u of pid %d: %s",
			       which->index, pid, strerror(errno));
	}
	int r = us_kvm_vcpu_set_thread(v, pid, which, e);
	return r < 0 ? r : take_page(v, e);
}

int us_kvm_vcpu_open(struct us_kvm_vcpu *v, int pidfd, pid_t pid,
		     const struct us_vcpu *which, struct us_err *e)
{
	*v = (struct us_kvm_vcpu){
		.tid = which->tid,
		.thread = { .syscall_fd = -1,
			    .stat_fd = -1,
			    .schedstat_fd = -1,
			    .frozen = { .dir = -1, .v1_dir = -1 } },
	};
	us_kvm_patience_open(&v->patience);
	int r = open_parts(v, pidfd, pid, which, e);
	if (r < 0)
		us_kvm_vcpu_close(v);
	return r;
}

/* From us_kvm_vcpu_stop() until then, this process must not be stopped itself. */
static void set_free(struct us_kvm_vcpu *v)
{
	if (v->hold != US_KVM_FREE)
		us_job_let_go();
	v->hold = US_KVM_FREE;
}

/* A requested stop cannot be canceled, so wait a little for it. */
static void settle_within(struct us_kvm_vcpu *v, uint64_t limit_ns)
{
	uint64_t end = us_now_ns() + limit_ns;
	while (v->hold == US_KVM_ASKED && us_now_ns() < end) {
		us_kvm_vcpu_settle(v);
		if (v->hold == US_KVM_ASKED)
			usleep(POLL_NS / US_NS_PER_US);
	}
}

void us_kvm_vcpu_close(struct us_kvm_vcpu *v)
{
	us_kvm_vcpu_release(v);
	settle_within(v, REAP_NS);
	if (v->hold != US_KVM_ASKED || !us_late_stop_expect(v->tid))
		set_free(v); /* our exit releases a thread that never stops */
	if (v->run && v->old)
		give_page_back(v);
	if (v->run) {
		munmap(v->run, PAGE);
		us_kvm_thread_close(&v->thread);
	}
	us_kvm_vcpu_file_close(&v->file);
	free(v->old);
	us_kvm_patience_close(&v->patience);
	memset(v, 0, sizeof(*v));
}

bool us_kvm_vcpu_check_thread(struct us_kvm_vcpu *v)
{
	char line[128] = "";
	if (v->matched || pread(v->thread.syscall_fd, line, sizeof(line) - 1, 0) <= 0)
		return true;
	long fd = us_kvm_fd_of_run(line);
	v->matched = us_vcpu_has_fd(&v->thread.vcpu, fd);
	v->proven |= v->matched;
	return v->matched || fd < 0;
}

bool us_kvm_vcpu_is_closed(struct us_kvm_vcpu *v)
{
	bool stopped = v->hold == US_KVM_STOPPED;
	/* This page is the one that KVM has just stored registers in. */
	if (stopped && __atomic_load_n(&v->run->s.regs.regs.rflags, __ATOMIC_SEQ_CST))
		return false;
	uint64_t now_ns = us_now_ns(), since_ns = now_ns - v->looked_ns;
	if (since_ns < (stopped ? MOMENT_NS : LOOK_NS) && (v->ran || !stopped))
		return false;
	v->looked_ns = now_ns;
	return us_kvm_vcpu_file_is_closed(&v->file, v->tid);
}

bool us_kvm_vcpu_has_run(struct us_kvm_vcpu *v)
{
	return __atomic_exchange_n(&v->run->s.regs.regs.rflags, 0, __ATOMIC_SEQ_CST);
}

bool us_kvm_vcpu_has_halted(struct us_kvm_vcpu *v)
{
	bool has = __atomic_load_n(&v->run->exit_reason, __ATOMIC_RELAXED) ==
		   KVM_EXIT_HLT;
	v->idles |= has;
	return has;
}

bool us_kvm_vcpu_is_elsewhere(struct us_kvm_vcpu *v)
{
	uint64_t run_ns, wait_ns, before_ns = v->asleep_ns;
	long fd = us_kvm_fd_of_run(v->thread.asleep_in);
	bool has_run = us_kvm_vcpu_has_run(v);
	us_kvm_thread_times(&v->thread, &run_ns, &wait_ns);
	bool slept = run_ns && run_ns == before_ns, was_suspect = v->suspect;
	/* KVM stores registers in the thread that runs the vCPU.  Only the next sample
	 * shows whether this thread has slept all the time: if it has just woken up,
	 * the sum does not include that run yet. */
	v->asleep_ns = run_ns;
	v->suspect = slept && has_run;
	return (fd >= 0 && !us_kvm_thread_is_in_run(&v->thread)) ||
	       (slept && was_suspect);
}

bool us_kvm_vcpu_asks_start(struct us_kvm_vcpu *v)
{
	if (!v->asked_start)
		return !v->seen;
	if (!v->unstarted)
		return false;
	/* Our own stop made the thread run: count from its first sleep behind that. */
	if (!v->unstarted_ns)
		v->unstarted_ns = v->asleep_ns;
	return v->asleep_ns != v->unstarted_ns;
}

void us_kvm_vcpu_note_start(struct us_kvm_vcpu *v, bool unstarted)
{
	v->asked_start = true;
	/* Without these sums it could not be known when it starts. */
	v->unstarted = unstarted && v->asleep_ns;
	v->unstarted_ns = 0;
}

enum us_kvm_doing us_kvm_vcpu_peek(struct us_kvm_vcpu *v, enum us_vcpu_state *ret_state)
{
	enum us_kvm_asleep asleep = US_KVM_IN_RUN;
	enum us_kvm_doing doing = us_kvm_thread_peek(&v->thread, &asleep);
	if (doing != US_KVM_ASLEEP)
		return doing;
	static const uint8_t states[] = {
		[US_KVM_IN_RUN] = US_VCPU_HALTED,
		[US_KVM_IN_RUN_BUSY] = US_VCPU_EXIT,
		[US_KVM_STOPPED_ALL] = US_VCPU_OFF,
	};
	*ret_state = asleep == US_KVM_IN_VMM
			     ? us_kvm_thread_in_vmm(&v->thread, v->run->exit_reason)
			     : states[asleep];
	return doing;
}

static uint64_t run_delay(const struct us_kvm_vcpu *v, uint64_t *ret_run_ns)
{
	uint64_t wait_ns;
	us_kvm_thread_times(&v->thread, ret_run_ns, &wait_ns);
	return wait_ns;
}

/* A stop that took long: the thread had no CPU to stop on.  One of a thread that has
 * waited lately may have waited until this thread began to sleep for it. */
static void note_waiting(struct us_kvm_vcpu *v)
{
	v->stopped_ns = us_now_ns();
	uint64_t took = v->stopped_ns - v->asked_ns;
	v->waited_ns = 0;
	v->had_no_cpu = false;
	if (took < LONG_STOP_NS && !v->is_pressed)
		return;
	uint64_t run_ns, delay = run_delay(v, &run_ns), wait = delay - v->delay_ns;
	if (delay <= v->delay_ns)
		return;
	/* A wait is added to the sum as a whole when it ends, so the length tells when
	 * this one began.  If that was when the sampler woke up, it ran until then. */
	bool woke = v->awake_ns && v->awake_ns < v->asked_ns;
	v->had_no_cpu = wait > v->stopped_ns - (woke ? v->awake_ns : v->asked_ns);
	v->waited_ns = wait < took ? wait : took;
}

/* Process a status of waitpid().  0: stopped; -ESRCH: ended. */
static int note_status(struct us_kvm_vcpu *v, int status)
{
	if (!WIFSTOPPED(status)) {
		set_free(v);
		return -ESRCH;
	}
	bool event = status >> 16;
	v->hold = US_KVM_STOPPED;
	v->group_stop = event && WSTOPSIG(status) != SIGTRAP;
	v->signal = event ? 0 : WSTOPSIG(status);
	note_waiting(v);
	return 0;
}

/* A thread that has stopped already is not slept for, so that this one takes no CPU
 * away when it wakes up. */
static pid_t wait_once(struct us_kvm_vcpu *v, bool may_sleep, int *ret_status)
{
	pid_t r = waitpid(v->tid, ret_status, __WALL | WNOHANG);
	if (r != 0 || !may_sleep)
		return r;
	r = waitpid(v->tid, ret_status, __WALL);
	v->woke_ns = us_now_ns();
	return r;
}

static int wait_for_stop(struct us_kvm_vcpu *v)
{
	uint64_t give_up_ns = 0;
	for (;;) {
		int status;
		pid_t r = wait_once(v, !give_up_ns, &status);
		if (r == v->tid)
			return note_status(v, status);
		if (r < 0 && errno != EINTR) {
			set_free(v);
			return -ESRCH;
		}
		/* The other vCPUs' turn: the caller sees to this one's stop. */
		if (v->patience_ns && us_now_ns() - v->asked_ns >= v->patience_ns)
			return -EINTR;
		/* A signal asks us to end, or it takes long.  Wait for the thread, so
		 * that it does not stop after we are gone, but not forever. */
		if (!give_up_ns) {
			give_up_ns = us_now_ns() + PATIENCE_NS;
		} else if (us_now_ns() > give_up_ns) {
			return -EINTR;
		} else {
			usleep(POLL_NS / US_NS_PER_US);
			v->woke_ns = us_now_ns();
		}
	}
}

/* The thread was killed while we traced it: the VMM cannot be reaped before we have
 * reaped the thread. */
static void reap(struct us_kvm_vcpu *v)
{
	uint64_t end = us_now_ns() + REAP_NS;
	int status;
	pid_t r;
	while ((r = waitpid(v->tid, &status, __WALL | WNOHANG)) >= 0) {
		if (r == v->tid && !WIFSTOPPED(status))
			break;
		if (us_now_ns() > end)
			break;
		usleep(POLL_NS / US_NS_PER_US);
	}
}

static int seize(struct us_kvm_vcpu *v)
{
	if (!us_job_hold())
		return -EINTR;
	if (ptrace(PTRACE_SEIZE, v->tid, NULL, NULL)) {
		int r = -errno;
		us_job_let_go();
		return r;
	}
	v->hold = US_KVM_ASKED;
	return 0;
}

int us_kvm_vcpu_stop(struct us_kvm_vcpu *v)
{
	int r = seize(v);
	if (r < 0)
		return r;
	v->group_stop = false;
	v->signal = 0;
	uint64_t delay_ns = run_delay(v, &v->run_ns);
	v->is_pressed = delay_ns != v->delay_ns;
	v->delay_ns = delay_ns;
	/* Bit 1 of rflags is always set (Intel SDM volume 1, 3.4.3): once rflags is not
	 * 0 any more, KVM has stored new registers. */
	v->ran = us_kvm_vcpu_has_run(v);
	us_kvm_patience_begin(&v->patience,
			      v->patience_ns ? v->patience_ns : US_KVM_PATIENCE_NS);
	v->woke_ns = 0;
	v->asked_ns = us_now_ns();
	if (ptrace(PTRACE_INTERRUPT, v->tid, NULL, NULL)) {
		reap(v);
		set_free(v);
		r = -ESRCH;
	} else {
		r = wait_for_stop(v);
	}
	us_kvm_patience_end(&v->patience);
	return r;
}

bool us_kvm_vcpu_has_stopped(struct us_kvm_vcpu *v)
{
	int status;
	if (v->hold != US_KVM_ASKED)
		return false;
	pid_t r = waitpid(v->tid, &status, __WALL | WNOHANG);
	if (r == v->tid)
		return note_status(v, status) == 0;
	if (r < 0 && errno != EINTR)
		set_free(v);
	return false;
}

void us_kvm_vcpu_settle(struct us_kvm_vcpu *v)
{
	if (us_kvm_vcpu_has_stopped(v))
		us_kvm_vcpu_release(v);
}

bool us_kvm_vcpu_has_waited(const struct us_kvm_vcpu *v)
{
	return v->waited_ns > (v->stopped_ns - v->asked_ns) / 2;
}

bool us_kvm_vcpu_still_waits(struct us_kvm_vcpu *v)
{
	enum us_kvm_asleep asleep;
	uint64_t run_ns = 0;
	if (v->hold != US_KVM_ASKED || us_now_ns() - v->asked_ns < TICKS_NS)
		return false;
	run_delay(v, &run_ns);
	return run_ns && run_ns == v->run_ns &&
	       us_kvm_thread_peek(&v->thread, &asleep) == US_KVM_RUNNING;
}

uint64_t us_kvm_vcpu_release(struct us_kvm_vcpu *v)
{
	if (v->hold != US_KVM_STOPPED)
		return 0;
	/* A pending signal is delivered as if we had not been there. */
	if (ptrace(PTRACE_DETACH, v->tid, NULL, (void *)(long)v->signal))
		reap(v);
	uint64_t held_ns = us_now_ns() - v->asked_ns - v->waited_ns;
	v->held_max_ns = held_ns > v->held_max_ns ? held_ns : v->held_max_ns;
	set_free(v);
	return held_ns;
}

enum us_vcpu_state us_kvm_vcpu_read(struct us_kvm_vcpu *v, struct us_regs *regs,
				    bool *ret_regs)
{
	bool fresh = __atomic_load_n(&v->run->s.regs.regs.rflags, __ATOMIC_SEQ_CST);
	v->seen |= fresh;
	v->matched &= fresh; /* else another thread may run it by now */
	v->nested = v->run->flags & KVM_RUN_X86_GUEST_MODE;
	*ret_regs = v->seen && !v->group_stop && !v->nested;
	if (*ret_regs)
		us_kvm_regs(&v->run->s.regs.regs, &v->run->s.regs.sregs, regs);
	/* Another uniscope may have switched them off when it detached. */
	if ((v->run->kvm_valid_regs & WANTED) != WANTED)
		v->run->kvm_valid_regs |= WANTED;
	if (v->group_stop)
		return US_VCPU_OFF;
	/* Without a CPU, it may still be returning from our previous sample: then the
	 * guest has not moved since, and it may have begun to wait since. */
	bool waits = v->had_no_cpu || (!fresh && us_kvm_vcpu_has_waited(v));
	if (v->seen && waits)
		return US_VCPU_READY;
	if (v->run->exit_reason != KVM_EXIT_INTR)
		return US_VCPU_EXIT;
	return fresh ? US_VCPU_GUEST : US_VCPU_EXIT;
}
