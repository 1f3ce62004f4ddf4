/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vcpu_clock.c: see vcpu_clock.h. */
#include "backend/bpf/vcpu_clock.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <linux/kvm.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Reads of one thread count as simultaneous if they take no longer than AT_ONCE_NS, or
 * than this part of the observed time.  The total may be too large by that much once,
 * not once per read. */
#define AT_ONCE_NS   US_NS_PER_MS
#define AT_ONCE_PART 500

/* Without these, some things are not known. */
static void open_file(struct us_vcpu_clock *c, pid_t pid, const struct us_vcpu *which)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	_cleanup_close_ int fd = us_kvm_vcpu_file_open(&c->file, pidfd, pid, which);
	void *run = mmap(NULL, sizeof(struct kvm_run), PROT_READ, MAP_SHARED, fd, 0);
	c->run = run == MAP_FAILED ? NULL : run;
}

int us_vcpu_clock_open(struct us_vcpu_clock *c, pid_t pid, const struct us_vcpu *which,
		       const struct us_bpf_timer *timer, struct us_err *e)
{
	memset(c, 0, sizeof(*c));
	c->timer = timer;
	int r = us_kvm_thread_open(&c->thread, pid, which, e);
	c->open = r == 0;
	if (c->open)
		open_file(c, pid, which);
	return r;
}

void us_vcpu_clock_close(struct us_vcpu_clock *c)
{
	if (c->open)
		us_kvm_thread_close(&c->thread);
	if (c->run)
		munmap((void *)c->run, sizeof(*c->run));
	us_kvm_vcpu_file_close(&c->file);
	c->run = NULL;
	c->open = false;
}

/* How long the thread has run and waited in all, and whether it has a CPU. */
static bool times(const struct us_vcpu_clock *c, uint64_t *ret_run, uint64_t *ret_wait,
		  bool *ret_has_cpu)
{
	uint64_t first, unused;
	/* The scheduler's own sum of its run time lags behind. */
	if (!us_bpf_timer_ran(c->timer, &first) ||
	    !us_bpf_timer_ran(c->timer, ret_run) ||
	    !us_kvm_thread_times(&c->thread, &unused, ret_wait))
		return false;
	*ret_has_cpu = first != *ret_run;
	return true;
}

void us_vcpu_clock_start(struct us_vcpu_clock *c, uint64_t now_ns)
{
	c->from_ns = now_ns;
	bool has_cpu;
	if (c->not_run || !times(c, &c->run_ns, &c->wait_ns, &has_cpu))
		c->run_ns = c->wait_ns = 0;
	c->stuck_ns = 0;
	c->then_ns = c->ran_then_ns = c->ticked_then_ns = 0;
	c->slept_ns = c->waited_ns = c->ticked_ns = c->late_ns = 0;
	memset(c->credit_ns, 0, sizeof(c->credit_ns));
}

void us_vcpu_clock_tick(struct us_vcpu_clock *c, uint64_t t_ns, uint64_t period_ns)
{
	c->ticked_ns += period_ns;
	if (t_ns <= c->then_ns)
		c->ticked_then_ns += period_ns;
	c->off = false;
}

bool us_vcpu_clock_lived(struct us_vcpu_clock *c, uint64_t t_ns)
{
	if (c->closed || t_ns <= c->lived_ns)
		return t_ns <= c->lived_ns;
	uint64_t now_ns = us_now_ns();
	c->closed = us_kvm_vcpu_file_is_closed(&c->file, c->thread.tid);
	c->gone |= c->closed;
	if (!c->closed)
		c->lived_ns = now_ns;
	return !c->closed;
}

/* Asleep outside KVM_RUN.  If it stays there, its owner has paused it. */
static enum us_vcpu_state asleep_in_vmm(const struct us_vcpu_clock *c)
{
	uint32_t reason = c->run ? __atomic_load_n(&c->run->exit_reason,
						   __ATOMIC_RELAXED)
				 : KVM_EXIT_IO;
	enum us_vcpu_state state = us_kvm_thread_in_vmm(&c->thread, reason);
	return state == US_VCPU_EXIT && c->thread.same_place ? US_VCPU_OFF : state;
}

/* Why it sleeps, if it sleeps now.  If it runs, it was mostly halted before. */
static enum us_vcpu_state asleep_as(struct us_vcpu_clock *c)
{
	enum us_kvm_asleep asleep = US_KVM_IN_RUN;
	c->doing = us_kvm_thread_peek(&c->thread, &asleep);
	c->away = c->doing == US_KVM_ASLEEP && asleep == US_KVM_IN_VMM;
	c->gone = c->doing == US_KVM_VANISHED;
	if (c->off)
		return US_VCPU_OFF;
	if (c->gone) /* another thread may follow: the VMM's turn */
		return US_VCPU_EXIT;
	if (c->doing == US_KVM_RUNNING)
		return US_VCPU_HALTED;
	switch (asleep) {
	case US_KVM_IN_RUN:
		return US_VCPU_HALTED;
	case US_KVM_IN_VMM:
		return asleep_in_vmm(c);
	case US_KVM_STOPPED_ALL:
		return US_VCPU_OFF;
	default:
		return US_VCPU_EXIT;
	}
}

static uint64_t since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

/* By now all ticks up to the previous call have arrived: were they enough?  The tick
 * that came next and the partial one before the start may be missing. */
static void settle_ticks(struct us_vcpu_clock *c, uint64_t run_ns, uint64_t read_ns,
			 uint64_t period_ns)
{
	uint64_t late = since(c->ran_then_ns, c->ticked_then_ns + 2 * period_ns);
	if (late > c->late_ns) {
		c->credit_ns[US_VCPU_GUEST] += late - c->late_ns;
		c->late_ns = late;
	}
	c->then_ns = read_ns;
	c->ran_then_ns = run_ns;
	c->ticked_then_ns = c->ticked_ns;
}

/* A thread that waits, waited the last time and has not run in between has waited since
 * then. */
static uint64_t still_waits(struct us_vcpu_clock *c, uint64_t began_ns, uint64_t run,
			    uint64_t wait)
{
	if (!c->stuck_ns || run != c->stuck_run_ns) {
		c->stuck_ns = us_now_ns();
		c->stuck_run_ns = run;
		c->stuck_wait_ns = wait;
	}
	uint64_t least = c->stuck_wait_ns + since(began_ns, c->stuck_ns);
	return wait > least ? wait : least;
}

/*
 * The kernel reports a wait for a CPU only when the thread gets one; until then the
 * wait looks like sleep.  It counts as sleep only if the thread has a CPU or sleeps,
 * and if all values were read at about the same time: the thread may take the CPU from
 * this very program.
 */
static void settle_rest(struct us_vcpu_clock *c, uint64_t now_ns, uint64_t run,
			uint64_t wait, bool has_cpu, uint64_t began_ns)
{
	uint64_t wall = since(now_ns, c->from_ns);
	enum us_vcpu_state asleep = asleep_as(c);
	uint64_t took_ns = us_now_ns() - began_ns;
	bool at_once = took_ns < AT_ONCE_NS || took_ns < wall / AT_ONCE_PART;
	if (at_once && !has_cpu && c->doing == US_KVM_RUNNING)
		wait = still_waits(c, began_ns, run, wait);
	else
		c->stuck_ns = 0;
	uint64_t slept = since(wall, run + wait);
	if (slept > c->slept_ns && at_once && !c->stuck_ns) {
		c->credit_ns[asleep] += slept - c->slept_ns;
		c->slept_ns = slept;
	}
	/* If a thread is preempted often, the scheduler's sum overlaps the timer's by a
	 * few percent (seen with Linux 6.18).  Limit both together to the time that has
	 * passed. */
	uint64_t most = since(wall, run + c->slept_ns);
	wait = wait < most ? wait : most;
	if (wait > c->waited_ns) {
		c->credit_ns[US_VCPU_READY] += wait - c->waited_ns;
		c->waited_ns = wait;
	}
}

void us_vcpu_clock_settle(struct us_vcpu_clock *c, uint64_t now_ns, uint64_t period_ns,
			  bool arrived)
{
	uint64_t run, wait, began_ns = us_now_ns();
	bool has_cpu = true;
	if (c->gone || !us_vcpu_clock_lived(c, began_ns))
		return;
	if (c->not_run) {
		c->credit_ns[US_VCPU_OFF] += since(now_ns, c->from_ns + c->slept_ns);
		c->slept_ns = since(now_ns, c->from_ns);
		return;
	}
	if (times(c, &run, &wait, &has_cpu)) {
		run = since(run, c->run_ns);
		wait = since(wait, c->wait_ns);
	} else if (!arrived) {
		return; /* what it ran is known by ticks, and some are still to come */
	} else {	/* a kernel without these sums, or the thread has ended */
		run = c->ticked_ns > c->ran_then_ns ? c->ticked_ns : c->ran_then_ns;
		wait = c->waited_ns;
	}
	/* Read the time after the sums.  Otherwise, if this program lost its CPU while
	 * it read them, ticks that the sums contain would seem to come later: they
	 * would count as missing, and count twice. */
	uint64_t read_ns = us_now_ns();
	settle_rest(c, now_ns, run, wait, has_cpu, began_ns);
	if (arrived)
		settle_ticks(c, run, read_ns, period_ns);
}

uint32_t us_vcpu_clock_take(struct us_vcpu_clock *c, enum us_vcpu_state state,
			    uint64_t period_ns)
{
	uint64_t n = c->credit_ns[state] / period_ns;
	if (n > UINT32_MAX)
		n = UINT32_MAX;
	c->credit_ns[state] -= n * period_ns;
	return (uint32_t)n;
}
