/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/follow.c: see kvm/kvm_priv.h. */
#include "backend/kvm/kvm_priv.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>

#define MATCH_NS US_NS_PER_SEC /* how often to search for a vCPU's thread, ... */
/* ... and if the vCPU has run since, or if no thread of any vCPU is known */
#define MATCH_RUN_NS (50 * US_NS_PER_MS)
#define GONE_MS	     1000
#define MAX_MOVED    4	/* changes of thread within MOVED_NS: then give up, ... */
#define MAX_MISSED   20 /* ... and with so many runs in a thread that no search finds */
#define MOVED_NS     (60 * US_NS_PER_SEC)

unsigned us_kvm_count_threadless(const struct us_guest *g)
{
	unsigned n = 0;
	for (unsigned i = 0; i < g->n_vcpu; i++)
		n += !g->vcpu[i].tid;
	return n;
}

static bool process_gone(const struct us_kvm *k, int timeout_ms)
{
	struct pollfd p = { .fd = k->pidfd, .events = POLLIN };
	return poll(&p, 1, timeout_ms) > 0;
}

static int vmm_gone(struct us_kvm *k)
{
	return us_fail(&k->why, -ESRCH, "the VMM, pid %d, has ended", k->guest.pid);
}

/* No thread has followed the last one: the vCPU was unplugged, or the VMM ends.  The
 * others are not made to wait until that is clear: in the VMM their threads end, too.
 */
static int vcpu_gone(struct us_kvm *k, unsigned slot)
{
	us_pacer_retire(&k->pacer, slot);
	bool all = ++k->n_gone >= k->pacer.n_active;
	if (process_gone(k, all ? GONE_MS : 0))
		return vmm_gone(k);
	if (!all)
		return -EAGAIN;
	return us_fail(&k->why, -ESRCH,
		       "the guest's vCPUs have ended; the VMM, pid %d, goes on",
		       k->guest.pid);
}

/* The thread may go on with a vCPU of another machine, whose descriptor may have the
 * same number: its samples would have the last registers of this one. */
int us_kvm_vcpu_closed(struct us_kvm *k, unsigned slot)
{
	us_kvm_vcpu_release(&k->vcpu[slot]);
	return vcpu_gone(k, slot);
}

int us_kvm_thread_gone(struct us_kvm *k, unsigned slot)
{
	if (process_gone(k, 0))
		return vmm_gone(k);
	k->guest.vcpu[slot].tid = 0;
	k->ended_ns[slot] = us_now_ns();
	int r = us_kvm_vcpu_set_thread(&k->vcpu[slot], k->guest.pid,
				       &k->guest.vcpu[slot], NULL);
	return r ? r : -EAGAIN;
}

/* If threads take turns with the vCPUs, samples would show something else than what the
 * vCPUs do. */
static int refuse_turns(struct us_kvm *k)
{
	us_fail(&k->why, -EOPNOTSUPP,
		"the threads of pid %d take turns with its vCPUs: the kvm "
		"backend cannot see which thread runs which",
		k->guest.pid);
	us_hint(&k->why, "use --backend bpf, as root");
	return -EOPNOTSUPP;
}

/* A vCPU may be unplugged and plugged in again in a long recording; turns are quick. */
static int count_move(struct us_kvm *k)
{
	uint64_t now_ns = us_now_ns();
	if (!k->n_moved || now_ns - k->moved_ns > MOVED_NS) {
		k->moved_ns = now_ns;
		k->n_moved = 0;
	}
	return ++k->n_moved < MAX_MOVED ? -EAGAIN : refuse_turns(k);
}

/*
 * A thread runs this vCPU, but the search has not caught that thread at it.  By itself
 * that says little: the thread may have been between two runs, or not have stopped yet.
 * If the vCPU idles in the VMM, it says nothing.
 */
static int count_miss(struct us_kvm *k, struct us_kvm_vcpu *v)
{
	if (k->match.n_asked || v->idles)
		return -EAGAIN;
	return ++v->n_missed < MAX_MISSED ? -EAGAIN : refuse_turns(k);
}

int us_kvm_vcpu_moved(struct us_kvm *k, unsigned slot)
{
	struct us_kvm_vcpu *v = &k->vcpu[slot];
	bool proven = v->proven;
	us_kvm_vcpu_release(v);
	k->guest.vcpu[slot].tid = 0;
	int r = us_kvm_vcpu_set_thread(v, k->guest.pid, &k->guest.vcpu[slot], NULL);
	/* If the thread was never proven right, its name was misleading: that is no
	 * change of thread. */
	return r || !proven ? -EAGAIN : count_move(k);
}

/*
 * A VMM that has one thread is taken to run its vCPU there.  If it was seen before it
 * had created the vCPU's thread, the first one sleeps from then on; and a guest that
 * never exits stores no registers, which would show that another one runs it.
 */
bool us_kvm_guess_is_wrong(struct us_kvm *k, unsigned slot)
{
	struct us_kvm_vcpu *v = &k->vcpu[slot];
	pid_t *tid = &k->guest.vcpu[slot].tid, guess = *tid;
	if (v->proven || guess != k->guest.pid || us_kvm_thread_is_in_run(&v->thread) ||
	    us_now_ns() - k->matched_ns < MATCH_NS)
		return false;
	*tid = 0;
	us_kvm_match_again(&k->match, &k->guest);
	k->matched_ns = us_now_ns();
	bool wrong = *tid || k->match.n_asked;
	if (!wrong)
		*tid = guess;
	return wrong;
}

/* Search for the thread of a vCPU that has no known one.  False: it is too early. */
static bool look_for_thread(struct us_kvm *k, unsigned slot, bool has_run)
{
	struct us_vcpu *which = &k->guest.vcpu[slot];
	uint64_t since = us_now_ns() - k->matched_ns;
	bool soon = has_run || k->ended_ns[slot] ||
		    us_kvm_count_threadless(&k->guest) == k->guest.n_vcpu;
	bool look = since > (soon ? MATCH_RUN_NS : MATCH_NS);
	if (look) {
		us_kvm_match_again(&k->match, &k->guest);
		k->matched_ns = us_now_ns();
	}
	/* A search for another vCPU's thread may have found it.  If it cannot be set,
	 * the vCPU has no thread. */
	if (which->tid &&
	    us_kvm_vcpu_set_thread(&k->vcpu[slot], k->guest.pid, which, NULL))
		which->tid = 0;
	k->vcpu[slot].proven = which->tid;
	return look;
}

/* Has it been without a thread for so long that none will come? */
static bool has_ended(struct us_kvm *k, unsigned slot, bool has_run)
{
	uint64_t *ended_ns = &k->ended_ns[slot], now_ns = us_now_ns();
	if (*ended_ns && has_run)
		*ended_ns = now_ns;
	return *ended_ns && now_ns - *ended_ns > GONE_MS * US_NS_PER_MS;
}

/* What a vCPU without a thread does.  Between two threads it is the VMM's turn. */
static enum us_vcpu_state threadless_state(const struct us_kvm *k, unsigned slot,
					   bool halted)
{
	if (halted)
		return US_VCPU_HALTED;
	return k->ended_ns[slot] ? US_VCPU_EXIT : US_VCPU_OFF;
}

/* 0: a thread is known now; 1: *c says what the vCPU does without; else as sample(). */
int us_kvm_sample_threadless(struct us_kvm *k, unsigned slot, struct us_capture *c)
{
	struct us_kvm_vcpu *v = &k->vcpu[slot];
	bool has_run = us_kvm_vcpu_has_run(v), halted = us_kvm_vcpu_has_halted(v);
	bool looked = look_for_thread(k, slot, has_run);
	if (v->tid) {
		k->ended_ns[slot] = 0;
		return 0;
	}
	if (looked && process_gone(k, 0))
		return vmm_gone(k); /* no thread of this vCPU shows it */
	if (us_kvm_vcpu_is_closed(v))
		return us_kvm_vcpu_closed(k, slot);
	if (has_ended(k, slot, has_run) && looked)
		return vcpu_gone(k, slot);
	if (has_run)
		return looked ? count_miss(k, v) : -EAGAIN;
	if (v->idles && !halted)
		return -EAGAIN; /* it runs */
	c->state = (uint8_t)threadless_state(k, slot, halted);
	c->form = US_CAPTURE_NONE;
	c->t_ns = us_now_ns();
	return 1;
}
