/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvm.c: any KVM guest on x86, whatever its VMM.  For a sample, uniscope stops the
 * vCPU's thread with ptrace and reads the registers from the page it shares with KVM.
 */
#include "backend/after_hlt.h"
#include "backend/kvm/kvm_priv.h"
#include "backend/kvm/probe.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "guest/paging.h"
#include "vmm/cmdline.h"
#include "vmm/qmp.h"
#include "vmm/socket_peer.h"
#include "vmm/ram.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SETTLE_NS	  US_NS_PER_MS	/* how often to check for a late stop */
#define LET_GO_NS	  US_NS_PER_SEC /* a thread without a CPU stops late */
#define LEAST_PATIENCE_NS (300 * US_NS_PER_US)
#define RESET_PC	  0xfffffff0 /* Intel SDM volume 3, 9.1.4 */
#define PLACE_ROUNDS	  40   /* tries to find a running vCPU in a strange VMM, ... */
#define PLACE_US	  5000 /* ... and the time between them */
#define MAX_BLIND	  500  /* stops in a row without registers: then give up */

extern const struct us_backend_ops us_backend_kvm;

static int kvm_probe(const struct us_target *t, struct us_err *why)
{
	return us_kvm_probe(t, why) == 0;
}

static int open_ram(struct us_kvm *k, const struct us_target *t, struct us_err *e)
{
	struct us_qmp *monitor = NULL;
	/* The monitor knows the layout best.  If it is busy, the layout is found in the
	 * maps of the process instead. */
	bool free = t->qmp[0] && !t->spared &&
		    us_socket_find_client(t->qmp, NULL) != US_SOCKET_TAKEN;
	if (free && us_qmp_open(t->qmp, &monitor, NULL))
		monitor = NULL;
	int r = us_ram_open(&k->guest, monitor, &k->ram, e);
	us_qmp_close(monitor);
	return r;
}

static int open_vcpu(struct us_kvm *k, unsigned i, struct us_err *e)
{
	struct us_vcpu *which = &k->guest.vcpu[i];
	int r = us_kvm_vcpu_open(&k->vcpu[i], k->pidfd, k->guest.pid, which, e);
	if (!which->tid || (r != -ENOENT && r != -ESRCH))
		return r;
	/* The thread has ended since it was found: another one may follow it. */
	which->tid = 0;
	return us_kvm_vcpu_open(&k->vcpu[i], k->pidfd, k->guest.pid, which, e);
}

static int open_parts(struct us_kvm *k, const struct us_target *t, struct us_err *e)
{
	k->pidfd = us_kvm_open_process(&k->guest, e);
	if (k->pidfd < 0)
		return k->pidfd;
	int r = us_kvm_match_threads(&k->match, &k->guest, e);
	/* The threads are known only now; or another tracer keeps them from it. */
	if (!r)
		r = us_kvm_refuse_tracer(&k->guest, k->match.refused, e);
	if (!r)
		r = open_ram(k, t, e);
	for (unsigned i = 0; !r && i < k->guest.n_vcpu; i++) {
		r = open_vcpu(k, i, e);
		k->n_open += !r;
	}
	k->matched_ns = us_now_ns();
	return r;
}

static void fini(struct us_kvm *k)
{
	us_kvm_match_close(&k->match, &k->guest);
	for (unsigned i = 0; i < k->n_open; i++)
		us_kvm_vcpu_close(&k->vcpu[i]);
	us_ram_close(k->ram);
	us_closep(&k->pidfd);
}

static void kvm_close(struct us_backend *b)
{
	struct us_kvm *k = (struct us_kvm *)b;
	if (k)
		fini(k);
	free(k);
}

static void caution(const struct us_guest *g, char *ret, size_t size)
{
	unsigned n = us_kvm_count_threadless(g);
	if (g->n_vcpu_beyond)
		snprintf(ret, size,
			 "%u more vCPUs are not sampled: uniscope supports %d at most",
			 g->n_vcpu_beyond, US_MAX_VCPUS);
	else if (n)
		snprintf(ret, size,
			 "the threads of %u of the %u vCPUs are not known yet: until "
			 "they are, these vCPUs count as idle if they halted, else as "
			 "off; --backend bpf, as root, sees their threads at once",
			 n, g->n_vcpu);
}

static int check_place(struct us_kvm *k, const struct us_regs *regs)
{
	return us_kvm_place_check(&k->place, &k->guest, k->ram, regs, &k->why);
}

/* -EAGAIN: this vCPU cannot answer it now. */
static int place_by(struct us_kvm *k, struct us_kvm_vcpu *v)
{
	struct us_regs regs = { 0 };
	enum us_vcpu_state asleep;
	bool have = false;
	int r = -EAGAIN;
	if (!v->tid || us_kvm_vcpu_peek(v, &asleep) != US_KVM_RUNNING ||
	    us_kvm_vcpu_stop(v))
		return -EAGAIN;
	if (us_kvm_vcpu_check_thread(v))
		us_kvm_vcpu_read(v, &regs, &have);
	if (have)
		r = check_place(k, &regs);
	us_kvm_vcpu_release(v);
	return r;
}

/*
 * An unknown VMM may lay out memory in any way: check it against a running vCPU before
 * reporting anything.  If none runs in all that time, accept the VMM.
 */
static int place_strange(struct us_kvm *k, struct us_err *e)
{
	int r = us_vmm_is_known(k->guest.vmm) ? 0 : -EAGAIN;
	for (unsigned round = 0; r == -EAGAIN && round < PLACE_ROUNDS; round++) {
		if (round)
			usleep(PLACE_US);
		us_kvm_match_settle(&k->match, &k->guest);
		for (unsigned i = 0; r == -EAGAIN && i < k->n_open; i++)
			r = place_by(k, &k->vcpu[i]);
	}
	if (!r || r == -EAGAIN)
		return 0;
	if (e)
		*e = k->why;
	return r;
}

static int kvm_open(const struct us_target *t, struct us_backend **ret,
		    struct us_err *e)
{
	int r = us_kvm_probe(t, e);
	if (r < 0)
		return r;
	struct us_kvm *k = calloc(1, sizeof(*k));
	if (!k)
		return us_fail(e, -ENOMEM, "attach to pid %d: out of memory",
			       t->guest->pid);
	k->guest = *t->guest;
	k->pidfd = -1;
	k->arrived = -1;
	r = open_parts(k, t, e);
	if (!r)
		r = place_strange(k, e);
	if (r < 0) {
		fini(k);
		free(k);
		return r;
	}
	k->base.ops = &us_backend_kvm;
	k->base.caps = US_CAP_ALL_GPRS;
	k->base.arch = US_ARCH_X86_64;
	k->base.accel = US_ACCEL_KVM;
	k->base.n_vcpu = k->guest.n_vcpu;
	k->base.mem = us_ram_mem(k->ram);
	us_paging_init(&k->paging, k->base.mem);
	caution(&k->guest, k->base.caution, sizeof(k->base.caution));
	if (us_ram_lacks_devices(k->ram))
		us_append(k->base.caution, sizeof(k->base.caution),
			  "%sstacks in memory of pc-dimm or virtio-mem are cut, as "
			  "uniscope does not know where it is: --backend bpf, as root, "
			  "does, and a monitor of QEMU's (-qmp)",
			  k->base.caution[0] ? "; " : "");
	snprintf(k->base.how, sizeof(k->base.how), "ptrace, shared registers, %s",
		 us_ram_how(k->ram));
	*ret = &k->base;
	return 0;
}

static int kvm_start(struct us_backend *b, const struct us_schedule *s,
		     struct us_err *e)
{
	struct us_kvm *k = (struct us_kvm *)b;
	us_pacer_init(&k->pacer, s, b->n_vcpu, 1, us_now_ns());
	if (!k->pacer.n_active)
		return us_fail(e, -EINVAL, "none of the %u vCPUs of pid %d is chosen",
			       b->n_vcpu, k->guest.pid);
	/* A stop may still be under way.  What it stands for was counted before, as
	 * failed: in the new count it cannot be recovered. */
	k->wait.n = 0;
	for (unsigned i = 0; i < k->n_open; i++) {
		k->vcpu[i].held_max_ns = 0;
		k->vcpu[i].n_due = 0;
	}
	return 0;
}

/* Threads that did not stop in time may have stopped by now.  One that is worth a
 * sample is to be sampled next, and those behind it are looked at after that.  Returns
 * whether others are still to stop. */
static bool settle_late(struct us_kvm *k)
{
	bool open = us_kvm_match_settle(&k->match, &k->guest);
	for (unsigned i = 0; i < k->n_open && k->arrived < 0; i++) {
		struct us_kvm_vcpu *v = &k->vcpu[i];
		if (us_kvm_vcpu_has_stopped(v)) {
			if (v->n_due)
				k->arrived = (int)i;
			else
				us_kvm_vcpu_release(v);
		}
		open |= v->hold == US_KVM_ASKED;
	}
	return open && k->arrived < 0;
}

/* Until t_ns, or until a late stop is to be sampled; false: a signal came. */
static bool sleep_for_stops(struct us_kvm *k, uint64_t t_ns)
{
	sigset_t before;
	bool slept = true;
	us_kvm_stops_expect(&before);
	while (slept && settle_late(k) && us_now_ns() < t_ns) {
		uint64_t soon = us_now_ns() + SETTLE_NS;
		slept = us_kvm_stops_sleep(soon < t_ns ? soon : t_ns);
		k->awake_ns = us_now_ns();
	}
	us_kvm_stops_forget(&before);
	return slept;
}

/* The same if nothing is to stop, as mostly. */
static bool sleep_until(struct us_kvm *k, uint64_t t_ns)
{
	bool slept = !settle_late(k) || sleep_for_stops(k, t_ns);
	if (!slept || k->arrived >= 0 || us_now_ns() >= t_ns)
		return slept;
	slept = us_pacer_sleep(t_ns) == 0;
	k->awake_ns = us_now_ns();
	return slept;
}

/* For how long the others can wait for the stop of this vCPU; 0: there are none.  Most
 * stops take less than the least of it. */
static uint64_t patience_with(const struct us_kvm *k, unsigned slot)
{
	uint64_t now_ns = us_now_ns(), until = UINT64_MAX;
	for (unsigned i = 0; i < k->n_open; i++)
		if (i != slot && k->pacer.slot[i].due_ns < until)
			until = k->pacer.slot[i].due_ns;
	if (until == UINT64_MAX || until > now_ns + US_KVM_PATIENCE_NS)
		return 0;
	uint64_t least = now_ns + LEAST_PATIENCE_NS;
	return (until > least ? until : least) - now_ns;
}

static int stopped_without_registers(struct us_kvm *k)
{
	if (++k->blind < MAX_BLIND)
		return 0;
	return us_fail(&k->why, -EOPNOTSUPP,
		       "KVM stored no registers of pid %d in %u stops", k->guest.pid,
		       k->blind);
}

struct code_of {
	struct us_paging *paging;
	const struct us_space *space;
};

static bool read_code(void *ctx, us_gva at, void *buf, size_t len)
{
	const struct code_of *of = ctx;
	return us_paging_read(of->paging, of->space, at, buf, len);
}

/* Halted vCPUs have stacks only if they are asked for. */
static void set_halted(const struct us_kvm *k, struct us_capture *c)
{
	c->state = US_VCPU_HALTED;
	if (!k->pacer.schedule.wake_halted)
		c->form = US_CAPTURE_NONE;
}

/*
 * Before KVM puts the thread of a halted vCPU to sleep, it polls for an interrupt for
 * up to halt_poll_ns (Documentation/virt/kvm/halt-polling.rst).  The thread runs then,
 * and a stop makes it leave KVM_RUN as if it had been in the guest; only the code shows
 * that it was not.
 */
static void tell_polling(struct us_kvm *k, struct us_capture *c)
{
	struct code_of of = { &k->paging, &c->regs.space };
	if (c->state != US_VCPU_GUEST || c->form != US_CAPTURE_LIVE)
		return;
	us_paging_new_sample(&k->paging);
	if (us_is_after_hlt(&c->regs, read_code, &of))
		set_halted(k, c);
}

/* What a stopped vCPU does, and its registers, if there are any. */
static void read_stopped(struct us_kvm_vcpu *v, struct us_capture *c)
{
	bool have = false;
	c->state = us_kvm_vcpu_read(v, &c->regs, &have);
	c->form = have ? US_CAPTURE_LIVE : US_CAPTURE_NONE;
	if (c->state == US_VCPU_EXIT)
		c->exit = us_vm_exit_code(us_exit_of_kvm(v->run->exit_reason),
					  US_PLACE_VMM);
}

/* n samples came due while the thread of this vCPU was to stop, and waited for a CPU.
 * The first may have found it with one; one that sleeps does not want any. */
static void divide_wait(struct us_kvm *k, struct us_capture *c, uint32_t n)
{
	bool all = c->state != US_VCPU_GUEST && c->state != US_VCPU_EXIT;
	c->weight = all ? n : 1;
	k->wait.n = n - c->weight;
	k->wait.t_ns = k->vcpu[c->vcpu].stopped_ns;
}

/* 1: stopped, and *c is filled.  Otherwise it runs; -EAGAIN: no capture this time. */
static int sample_running(struct us_kvm *k, unsigned slot, struct us_capture *c)
{
	struct us_kvm_vcpu *v = &k->vcpu[slot];
	v->awake_ns = k->awake_ns;
	v->patience_ns = patience_with(k, slot);
	int r = us_kvm_vcpu_stop(v);
	if (v->woke_ns)
		k->awake_ns = v->woke_ns;
	v->n_due = 0;
	if (r == -ESRCH)
		return us_kvm_thread_gone(k, slot);
	if (r < 0)
		return -EAGAIN;
	if (!us_kvm_vcpu_check_thread(v))
		return us_kvm_vcpu_moved(k, slot);
	if (us_kvm_vcpu_is_closed(v))
		return us_kvm_vcpu_closed(k, slot);
	read_stopped(v, c);
	bool have = c->form == US_CAPTURE_LIVE;
	c->t_ns = v->asked_ns;
	if (!have && !v->nested && c->state != US_VCPU_OFF)
		r = stopped_without_registers(k);
	else if (have)
		k->blind = 0;
	if (!r && have && !k->place.checked)
		r = check_place(k, &c->regs);
	if (r)
		return r;
	tell_polling(k, c);
	return 1;
}

/* If the sample shows a vCPU that waits to be started for the first time, it is off. */
static bool is_unstarted(struct us_capture *c)
{
	if (c->form != US_CAPTURE_LIVE || c->regs.pc != RESET_PC)
		return false;
	c->state = US_VCPU_OFF;
	c->form = US_CAPTURE_NONE;
	return true;
}

/* Woken from its wait in KVM_RUN, a halted vCPU shows where it halted; KVM goes on
 * waiting when it is resumed. */
static int sample_halted(struct us_kvm *k, unsigned slot, struct us_capture *c)
{
	int r = sample_running(k, slot, c);
	bool unstarted = r == 1 && is_unstarted(c);
	if (r == 1 && !unstarted && c->state == US_VCPU_GUEST)
		set_halted(k, c);
	if (r == 1)
		us_kvm_vcpu_note_start(&k->vcpu[slot], unstarted);
	return r;
}

static int sample_awake(struct us_kvm *k, unsigned slot, struct us_capture *c)
{
	int r = sample_running(k, slot, c);
	/* Our own stop made its thread run, on its way back to where it waits. */
	if (r == 1 && k->vcpu[slot].unstarted)
		(void)is_unstarted(c);
	return r;
}

static bool wants_halted(const struct us_kvm *k, struct us_kvm_vcpu *v)
{
	return us_kvm_thread_is_in_run(&v->thread) &&
	       (k->pacer.schedule.wake_halted || us_kvm_vcpu_asks_start(v));
}

static void begin_capture(struct us_capture *c, unsigned slot, uint32_t weight)
{
	c->vcpu = (uint16_t)slot;
	c->weight = weight;
	c->exit = 0;
	c->held_ns = 0;
}

static int sample(struct us_kvm *k, unsigned slot, struct us_capture *c)
{
	struct us_kvm_vcpu *v = &k->vcpu[slot];
	enum us_vcpu_state asleep = US_VCPU_OFF;
	begin_capture(c, slot, 1);
	if (v->hold != US_KVM_FREE)
		return -EAGAIN; /* the stop for an earlier sample is still to come */
	int r = v->tid ? 0 : us_kvm_sample_threadless(k, slot, c);
	if (r)
		return r;
	enum us_kvm_doing doing = us_kvm_vcpu_peek(v, &asleep);
	if (doing != US_KVM_ASLEEP)
		v->asleep_ns = 0;
	switch (doing) {
	case US_KVM_VANISHED:
		return us_kvm_thread_gone(k, slot);
	case US_KVM_ASLEEP:
		if (us_kvm_vcpu_is_closed(v))
			return us_kvm_vcpu_closed(k, slot);
		if (us_kvm_vcpu_is_elsewhere(v) || us_kvm_guess_is_wrong(k, slot))
			return us_kvm_vcpu_moved(k, slot);
		if (asleep == US_VCPU_HALTED && wants_halted(k, v))
			return sample_halted(k, slot, c);
		if (asleep == US_VCPU_HALTED && v->unstarted)
			asleep = US_VCPU_OFF;
		c->state = (uint8_t)asleep;
		c->form = US_CAPTURE_NONE;
		c->t_ns = us_now_ns();
		return 1;
	case US_KVM_RUNNING:
		break;
	}
	return sample_awake(k, slot, c);
}

/* Resume the vCPU and plan its next sample.  Returns how long it was held. */
static uint64_t end_sample(struct us_kvm *k, unsigned slot, uint32_t weight)
{
	uint64_t held_ns = us_kvm_vcpu_release(&k->vcpu[slot]);
	us_pacer_done_for(&k->pacer, slot, us_now_ns(), held_ns, weight);
	return held_ns;
}

/* A thread that slept when it was asked runs by our own stop.  Was its vCPU ever
 * started? */
static void arrive_asleep(struct us_kvm_vcpu *v, struct us_capture *c)
{
	bool asks = !v->asked_start && v->asleep_ns;
	bool unstarted = (asks || v->unstarted) && is_unstarted(c);
	if (asks)
		us_kvm_vcpu_note_start(v, unstarted);
}

/* A stop that came late stands for what was due meanwhile: if the thread had no CPU,
 * all of that would have found the vCPU where it is now.  False: it is resumed. */
static bool sample_arrived(struct us_kvm *k, struct us_capture *c)
{
	unsigned slot = k->slot = (unsigned)k->arrived;
	struct us_kvm_vcpu *v = &k->vcpu[slot];
	k->arrived = -1;
	begin_capture(c, slot, 1);
	read_stopped(v, c);
	c->t_ns = v->stopped_ns;
	bool placed = c->form != US_CAPTURE_LIVE || k->place.checked ||
		      check_place(k, &c->regs) == 0;
	k->is_counted = placed && us_kvm_vcpu_check_thread(v) &&
			!us_kvm_vcpu_is_closed(v);
	if (k->is_counted) {
		arrive_asleep(v, c);
		tell_polling(k, c);
		/* If it did not wait for a CPU, it had stopped before it was seen. */
		uint32_t n = us_kvm_vcpu_has_waited(v) ? v->n_due : 1;
		us_pacer_were_late(&k->pacer, v->n_due - n);
		divide_wait(k, c, n);
		us_pacer_recovered(&k->pacer, c->weight);
	} else {
		us_kvm_vcpu_release(v);
	}
	return k->is_counted;
}

/* The samples that found it waiting after the last one, if that found it with a CPU. */
static int tell_wait(struct us_kvm *k, struct us_capture *c)
{
	begin_capture(c, k->slot, k->wait.n);
	c->state = US_VCPU_READY;
	c->form = US_CAPTURE_NONE;
	c->t_ns = k->wait.t_ns;
	us_pacer_recovered(&k->pacer, k->wait.n);
	k->wait.n = 0;
	k->is_counted = true;
	return 1;
}

/* A stop that waited stands for what came due meanwhile. */
static void weigh(struct us_kvm *k, unsigned slot, struct us_capture *c)
{
	const struct us_kvm_vcpu *v = &k->vcpu[slot];
	if (v->hold == US_KVM_STOPPED && us_kvm_vcpu_has_waited(v))
		divide_wait(
			k, c,
			us_pacer_due_in(&k->pacer, slot, v->asked_ns, v->stopped_ns));
}

/* A vCPU that is still to stop waits all the time: what came due in it is one of those,
 * also while this thread had no time to see it. */
static void fail(struct us_kvm *k, unsigned slot)
{
	struct us_kvm_vcpu *v = &k->vcpu[slot];
	uint32_t n = 1;
	if (v->hold == US_KVM_ASKED)
		n = us_pacer_due_in(&k->pacer, slot, v->asked_ns, us_now_ns());
	end_sample(k, slot, n);
	us_pacer_failed(&k->pacer, n);
	v->n_due += n;
}

/* At the end of a call, one that is still to stop is known to wait for a host CPU: its
 * thread would stop as soon as it ran.  Only what was due first may have found it with
 * one.  Without this, a wait that outlasts the recording would be missing in it. */
static int tell_waiting(struct us_kvm *k, uint64_t deadline_ns, struct us_capture *c)
{
	for (unsigned i = 0; i < k->n_open; i++) {
		struct us_kvm_vcpu *v = &k->vcpu[i];
		if (v->n_due < 2 || !us_kvm_vcpu_still_waits(v))
			continue;
		begin_capture(c, i, v->n_due - 1);
		c->state = US_VCPU_READY;
		c->form = US_CAPTURE_NONE;
		c->t_ns = deadline_ns - 1;
		us_pacer_recovered(&k->pacer, c->weight);
		v->n_due = 1;
		k->slot = i;
		k->is_counted = true;
		return 1;
	}
	return 0;
}

static int kvm_next(struct us_backend *b, uint64_t deadline_ns, struct us_capture *c)
{
	struct us_kvm *k = (struct us_kvm *)b;
	/* The kernel may otherwise wake us 50 us late, to save power. */
	if (!k->precise)
		k->precise = prctl(PR_SET_TIMERSLACK, 1) == 0;
	us_ram_look_again(k->ram, us_now_ns());
	if (k->wait.n)
		return tell_wait(k, c);
	for (;;) {
		uint64_t due_ns;
		unsigned slot = us_pacer_next(&k->pacer, &due_ns);
		bool is_over = due_ns >= deadline_ns;
		if (!sleep_until(k, is_over ? deadline_ns : due_ns))
			return 0;
		if (k->arrived >= 0 && sample_arrived(k, c))
			return 1;
		if (is_over)
			return tell_waiting(k, deadline_ns, c);
		if (us_now_ns() < due_ns) /* it was woken for nothing */
			continue;
		int r = sample(k, slot, c);
		if (r == 1) {
			k->slot = slot;
			weigh(k, slot, c);
			return 1;
		}
		if (k->vcpu[slot].hold != US_KVM_FREE || r == -EAGAIN)
			fail(k, slot);
		if (r != -EAGAIN)
			return r;
	}
}

/* What is to stop would stand until the next call of next(). */
static void kvm_let_go(struct us_backend *b)
{
	struct us_kvm *k = (struct us_kvm *)b;
	uint64_t end = us_now_ns() + LET_GO_NS;
	sigset_t before;
	us_kvm_stops_expect(&before);
	while (settle_late(k) || k->arrived >= 0) {
		if (k->arrived >= 0)
			us_kvm_vcpu_release(&k->vcpu[k->arrived]);
		else if (us_now_ns() >= end)
			break;
		else
			us_kvm_stops_sleep(us_now_ns() + SETTLE_NS);
		k->arrived = -1;
	}
	us_kvm_stops_forget(&before);
}

static void kvm_release(struct us_backend *b, struct us_capture *c)
{
	struct us_kvm *k = (struct us_kvm *)b;
	if (k->is_counted) {
		c->held_ns = us_kvm_vcpu_release(&k->vcpu[k->slot]);
	} else {
		c->held_ns = end_sample(k, k->slot, c->weight + k->wait.n);
		us_pacer_failed(&k->pacer, k->wait.n); /* until they are told of */
	}
	k->is_counted = false;
}

static void kvm_counts(const struct us_backend *b, struct us_backend_counts *ret)
{
	const struct us_kvm *k = (const struct us_kvm *)b;
	us_pacer_counts(&k->pacer, us_now_ns(), ret);
	/* A stop that came too late, or found nothing, has no capture. */
	for (unsigned i = 0; i < k->n_open; i++)
		if (k->vcpu[i].held_max_ns > ret->held_max_ns)
			ret->held_max_ns = k->vcpu[i].held_max_ns;
}

static void kvm_explain(const struct us_backend *b, int code, struct us_err *e)
{
	const struct us_kvm *k = (const struct us_kvm *)b;
	*e = k->why;
	e->code = code;
}

const struct us_backend_ops us_backend_kvm = {
	.name = "kvm",
	.summary = "any KVM guest on x86: stops a vCPU for microseconds with ptrace",
	.probe = kvm_probe,
	.ready = us_kvm_ready,
	.open = kvm_open,
	.start = kvm_start,
	.close = kvm_close,
	.next = kvm_next,
	.release = kvm_release,
	.let_go = kvm_let_go,
	.counts = kvm_counts,
	.explain = kvm_explain,
};
