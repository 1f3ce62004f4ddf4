/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf.c: any KVM guest, never stopped.  A timer in the host's kernel interrupts the
 * thread that runs a vCPU, and puts a copy of its registers and stack into a ring.
 */
#include "backend/bpf/bpf.h"
#include "backend/bpf/session.h"
#include "backend/bpf/settle.h"
#include "backend/kvm/probe.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/random.h"
#include "vmm/host.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define SETTLE_NS	(50 * US_NS_PER_MS) /* how often the clocks are settled */
#define LEAST_SETTLE_NS (5 * US_NS_PER_MS)
#define PLACE_NS	(10 * US_NS_PER_MS) /* how often changed memory is read again */
#define EAGER_STEP_NS	US_NS_PER_MS /* how often to look while something is learned */
#define FIRST_LOOK_NS	(100 * US_NS_PER_MS) /* for new vCPUs and threads */
#define LEARN_NS	(200 * US_NS_PER_MS) /* for roots, before a start */
#define LEARN_PERIOD_NS US_NS_PER_MS

extern const struct us_backend_ops us_backend_bpf;

static int refuse_guest(const struct us_guest *g, struct us_err *why)
{
	if (!g)
		return us_fail(why, -ENODEV, "the target names no process");
	if (g->accel == US_ACCEL_TCG)
		return us_fail(why, -ENODEV, "pid %d runs its guest without KVM",
			       g->pid);
	if (g->several)
		return us_fail(why, -ENOTUNIQ, "pid %d runs more than one machine",
			       g->pid);
	if (!g->n_vcpu)
		return us_fail(why, -ENODEV, "pid %d has no KVM vCPU", g->pid);
	return 0;
}

/* On Intel, use this backend only if the user selects it. */
static int refuse_unverified(struct us_err *why)
{
	if (us_bpf_host_kind(why) != US_BPF_HOST_VMX)
		return 0;
	return us_fail(why, -EOPNOTSUPP,
		       "not verified on Intel: used only if selected (--backend bpf)");
}

static int bpf_ready(struct us_err *why)
{
	int r = us_bpf_ready(why);
	r = r < 0 ? r : us_host_may_trace(why);
	if (!r && refuse_unverified(why) < 0)
		us_hint(why, "uniscope doctor --bpf; if it passes: uniscope record "
			     "--backend bpf");
	return r;
}

/* Registers come from the kernel, but code is read from the VMM, and the state of its
 * threads from /proc. */
static int may_serve(const struct us_target *t, struct us_err *why)
{
	int r = refuse_guest(t->guest, why);
	r = r < 0 ? r : us_bpf_ready(why);
	return r < 0 ? r : us_kvm_may_look(t->guest, why);
}

static int bpf_probe(const struct us_target *t, struct us_err *why)
{
	return may_serve(t, why) == 0 && refuse_unverified(why) == 0;
}

static void bpf_close(struct us_backend *base)
{
	struct us_bpf_session *b = (struct us_bpf_session *)base;
	if (!b)
		return;
	for (unsigned i = 0; i < US_MAX_VCPUS; i++) {
		us_bpf_timer_close(&b->timer[i]);
		us_vcpu_clock_close(&b->clock[i]);
	}
	us_bpf_vmx_close(b->vmx);
	us_bpf_machine_close(&b->machine);
	us_closep(&b->pidfd);
	free(b);
}

static int open_vmx(struct us_bpf_session *b, struct us_err *e)
{
	struct us_bpf_row *row[US_MAX_VCPUS];
	for (unsigned i = 0; i < b->machine.guest.n_vcpu; i++)
		row[i] = us_bpf_machine_row(&b->machine, i);
	return us_bpf_vmx_open(&b->machine.guest, b->pidfd, row, &b->vmx, e);
}

static int open_vcpu(struct us_bpf_session *b, unsigned i, struct us_err *e)
{
	b->clock[i].not_run = b->machine.not_run >> i & 1;
	if (b->clock[i].not_run)
		return 0;
	int r = us_bpf_session_open_vcpu(b, i, e);
	if (r != -ENOENT && r != -ESRCH)
		return r;
	us_bpf_session_set_gone(b, i, us_now_ns());
	return 0;
}

static int open_parts(struct us_bpf_session *b, const struct us_guest *g,
		      struct us_err *e)
{
	b->pidfd = us_kvm_open_process(g, e);
	int r = b->pidfd < 0 ? b->pidfd : us_bpf_machine_open(&b->machine, g, e);
	for (unsigned i = 0; !r && i < g->n_vcpu; i++)
		r = open_vcpu(b, i, e);
	if (!r && b->host == US_BPF_HOST_VMX)
		r = open_vmx(b, e);
	return r;
}

static void describe(struct us_bpf_session *b)
{
	const struct us_bpf_machine *m = &b->machine;
	snprintf(b->base.how, sizeof(b->base.how),
		 "timer and BPF program in the host's kernel, %u memory slots",
		 m->n_slot);
	size_t at = 0;
	if (b->host == US_BPF_HOST_VMX)
		at += (size_t)snprintf(
			b->base.caution, sizeof(b->base.caution),
			"bpf is not verified on Intel: stacks end at "
			"functions without a frame, and each vCPU is "
			"stopped once a second to read its page-table root; ");
	if (m->n_slot_left_out)
		at += (size_t)snprintf(
			b->base.caution + at, sizeof(b->base.caution) - at,
			"%u of %u memory slots are not read, which --backend kvm can; ",
			m->n_slot_left_out, m->n_slot_left_out + m->n_slot);
	if (m->guest.n_vcpu_beyond)
		snprintf(b->base.caution + at, sizeof(b->base.caution) - at,
			 "%u more vCPUs are not sampled: uniscope supports %d at most",
			 m->guest.n_vcpu_beyond, US_MAX_VCPUS);
}

static int bpf_open(const struct us_target *t, struct us_backend **ret,
		    struct us_err *e)
{
	int r = may_serve(t, e);
	if (r < 0)
		return r;
	struct us_bpf_session *b = calloc(1, sizeof(*b));
	if (!b)
		return us_fail(e, -ENOMEM, "attach to pid %d: out of memory",
			       t->guest->pid);
	b->pidfd = -1;
	b->host = us_bpf_host_kind(NULL);
	r = open_parts(b, t->guest, e);
	if (r < 0) {
		bpf_close(&b->base);
		return r;
	}
	b->base.ops = &us_backend_bpf;
	b->base.caps = US_CAP_ALL_GPRS | US_CAP_HOST |
		       (b->host == US_BPF_HOST_VMX ? 0 : US_CAP_NO_STOP);
	b->base.arch = us_bpf_sample_arch;
	b->base.accel = US_ACCEL_KVM;
	b->base.n_vcpu = t->guest->n_vcpu;
	b->base.mem = &b->machine.mem;
	us_bpf_wait_init(&b->wait, &b->machine.mem);
	describe(b);
	*ret = &b->base;
	return 0;
}

/* --- start --- */

static void set_schedule(struct us_bpf_session *b, const struct us_schedule *s)
{
	b->schedule = *s;
	b->pause_ns = s->pause_ns > SETTLE_NS ? s->pause_ns : SETTLE_NS;
	b->n_chosen = 0;
	for (unsigned i = 0; i < b->base.n_vcpu; i++)
		us_bpf_session_choose(b, i);
}

static void begin_counting(struct us_bpf_session *b)
{
	uint64_t now = us_now_ns();
	double hz = b->schedule.hz;
	/* Of ticks beyond its limit the kernel skips the time, which looks like sleep.
	 */
	uint64_t period_ns = us_bpf_pace_period(hz, us_bpf_timer_max_hz());
	b->due_of_period = hz > 0 ? (double)period_ns * hz / 1e9 : 1;
	for (unsigned i = 0; i < US_MAX_VCPUS; i++)
		us_bpf_pace_start(&b->pace[i], b->schedule.seed + i);
	b->overdue = b->held = false;
	b->ended = 0;
	b->start_ns = b->settled_ns = now;
	b->random = ~b->schedule.seed;
	b->settle_ns = us_bpf_session_next_settle(b, now);
	/* The first time soon: the threads may have changed since they were found. */
	b->plugged_ns = now - US_BPF_PLUG_NS + FIRST_LOOK_NS;
	b->gone_ns = now;
	b->lived_ns = 0;
	us_bpf_need_start(&b->need,
			  &us_bpf_guests(b->machine.programs)[b->machine.index], now);
	if (us_bpf_sample_arch == US_ARCH_X86_64)
		us_bpf_links_guess(&b->need.links, b->need.guest);
	us_bpf_budget_start(&b->budget, period_ns, b->schedule.budget_ppm, b->n_chosen,
			    now);
	us_bpf_machine_set_budget(&b->machine, b->schedule.budget_ppm);
	b->next_slot = b->base.n_vcpu;
	memset(&b->counts, 0, sizeof(b->counts));
	us_bpf_machine_count(&b->machine, &b->zero);
	b->skipped = b->zero.skipped;
	b->cost_ns = us_bpf_vmx_refresh(b->vmx, now);
	for (unsigned i = 0; i < b->base.n_vcpu; i++)
		if (b->clock[i].open || b->clock[i].not_run)
			us_vcpu_clock_start(&b->clock[i], now);
}

/* Learn about the guest's roots what must be known before anything that needs them is
 * trusted.  The samples for this are not delivered. */
static void learn_roots(struct us_bpf_session *b)
{
	const struct us_guest *g = &b->machine.guest;
	uint64_t now = us_now_ns(), end = now + LEARN_NS;
	unsigned vcpu;
	if (b->host != US_BPF_HOST_ARM64)
		return;
	for (unsigned i = 0; i < b->base.n_vcpu; i++)
		us_bpf_timer_set(&b->timer[i], b->chosen[i] ? LEARN_PERIOD_NS : 0);
	while (now < end && us_bpf_roots_need_more(&b->roots)) {
		for (unsigned i = 0; b->roots.old && i < b->base.n_vcpu; i++)
			if (b->chosen[i])
				us_bpf_roots_visit(g->pid, g->vcpu[i].tid);
		us_bpf_client_wait(b->machine.client, now + 2 * LEARN_PERIOD_NS);
		while (us_bpf_client_take(b->machine.client, &b->buffer.sample, &vcpu))
			us_bpf_roots_see(&b->roots, vcpu, &b->buffer.sample);
		now = us_now_ns();
	}
	for (unsigned i = 0; i < b->base.n_vcpu; i++)
		us_bpf_timer_set(&b->timer[i], 0);
}

static int bpf_start(struct us_backend *base, const struct us_schedule *s,
		     struct us_err *e)
{
	struct us_bpf_session *b = (struct us_bpf_session *)base;
	set_schedule(b, s);
	if (!b->n_chosen)
		return us_fail(e, -EINVAL, "none of the %u vCPUs of pid %d is chosen",
			       base->n_vcpu, b->machine.guest.pid);
	if (s->host && us_bpf_client_keep_host(b->machine.client))
		return us_fail(e, -ENOMEM, "attach to the guest: out of memory");
	us_bpf_guests(b->machine.programs)[b->machine.index].host = s->host;
	for (unsigned i = 0; i < base->n_vcpu; i++)
		us_bpf_timer_set(&b->timer[i], 0);
	learn_roots(b);
	begin_counting(b);
	us_bpf_session_set_timers(b);
	return 0;
}

/* --- samples from the ring --- */

static bool has_stack(const struct us_bpf_session *b, const struct us_bpf_sample *l,
		      uint8_t state)
{
	if (state == US_VCPU_OFF || l->flags & (US_BPF_NESTED | US_BPF_NO_PC))
		return false;
	return state != US_VCPU_HALTED || b->schedule.wake_halted;
}

/* The guest's memory has moved.  Samples have no stack until its slots are read. */
static void place_again(struct us_bpf_session *b)
{
	uint64_t now = us_now_ns();
	if (now - b->placed_ns < PLACE_NS)
		return;
	b->placed_ns = now;
	/* If that fails, the next such sample asks again. */
	int r = us_bpf_machine_place(&b->machine, NULL);
	(void)r;
}

/* On arm64: how far the registers can be trusted, and whether the vCPU waits, which
 * only its code shows. */
static void complete(struct us_bpf_session *b, const struct us_bpf_sample *l,
		     struct us_capture *c)
{
	us_bpf_roots_see(&b->roots, c->vcpu, l);
	us_bpf_roots_doubt(&b->roots, l, &c->regs, &c->window);
	if (l->flags & US_BPF_OLD_EL1 && !us_bpf_roots_known(&b->roots, true) &&
	    !b->plan_has_root)
		c->pointed = NULL;
	if (l->kind == US_BPF_GUEST && us_bpf_wait_is(&b->wait, &c->regs, false)) {
		c->state = US_VCPU_HALTED;
	} else if (l->kind == US_BPF_HALTED &&
		   !us_bpf_wait_is(&b->wait, &c->regs, true)) {
		c->state = US_VCPU_EXIT;
		c->exit = us_vm_exit_code(US_EXIT_INTERRUPT, US_PLACE_HYPERVISOR);
	}
}

/* How many due samples this one stands for, so that all together cover the time that
 * has passed. */
static uint32_t weigh(struct us_bpf_session *b, unsigned vcpu,
		      const struct us_bpf_sample *l)
{
	struct us_bpf_pace *p = &b->pace[vcpu];
	struct us_bpf_beat beat = us_bpf_pace_tick(p, l->t_ns);
	uint32_t skipped = us_bpf_pace_skipped(p, beat, l->ran_ns, l->n_tick, l->n_new);
	double part = us_bpf_pace_part(p, beat, skipped, l->kind != US_BPF_GUEST);
	us_vcpu_clock_tick(&b->clock[vcpu], l->t_ns, (1 + skipped) * beat.period_ns);
	/* Its cost as it would be at the rate that fits the budget. */
	us_bpf_budget_sample(&b->budget, (uint64_t)((double)l->cost_ns * beat.part));
	b->cost_ns += l->cost_ns;
	return us_bpf_pace_due(p, part, b->due_of_period);
}

static void refuse_place(struct us_bpf_session *b, const struct us_capture *c)
{
	b->ended = us_fail(&b->why, -EILSEQ,
			   "check the RAM of pid %d: the page tables of its vCPU %u "
			   "(root 0x%llx) do not lead to its code at 0x%llx in any of "
			   "the %u memory slots that KVM has",
			   b->machine.guest.pid, c->vcpu,
			   (unsigned long long)c->regs.space.root,
			   (unsigned long long)c->regs.pc, b->machine.n_slot);
	us_hint(&b->why, "try again; if that does not help, use another backend: "
			 "uniscope doctor says which");
}

/* False: it is from an earlier start, or no sample is due. */
static bool deliver_sample(struct us_bpf_session *b, unsigned vcpu,
			   struct us_capture *c)
{
	const struct us_bpf_sample *l = &b->buffer.sample;
	if (vcpu >= b->base.n_vcpu || l->t_ns < b->start_ns || !b->chosen[vcpu])
		return false;
	b->overdue |= l->t_ns > b->settle_ns + b->pause_ns;
	if (!us_vcpu_clock_lived(&b->clock[vcpu], l->t_ns))
		return false;
	uint32_t weight = weigh(b, vcpu, l);
	if (!weight)
		return false;
	c->t_ns = l->t_ns;
	c->vcpu = (uint16_t)vcpu;
	c->weight = weight;
	c->held_ns = 0;
	c->cut = false;
	c->state = us_bpf_sample_state(l);
	c->exit = us_bpf_sample_exit(l, b->host);
	us_bpf_sample_regs(l, &c->regs);
	us_bpf_sample_window(l, &c->window);
	c->pointed = l->pointed.plan ? &l->pointed : NULL;
	if (b->host == US_BPF_HOST_ARM64)
		complete(b, l, c);
	c->form = has_stack(b, l, c->state) ? US_CAPTURE_WINDOW : US_CAPTURE_NONE;
	const struct us_bpf_host_sample *host = us_bpf_client_host(b->machine.client);
	c->host = host && c->state == US_VCPU_EXIT ? &b->host_copy : NULL;
	if (c->host)
		us_bpf_sample_host(host, c->host);
	b->stale = l->flags & US_BPF_STALE;
	if (b->stale)
		place_again(b);
	else if (l->kind == US_BPF_GUEST && c->form == US_CAPTURE_WINDOW &&
		 !us_bpf_place_fits(&b->place, &b->machine.mem, c))
		refuse_place(b, c);
	return true;
}

/* Nothing new can be learned before the next sample. */
static uint64_t eager_step(const struct us_bpf_session *b)
{
	uint64_t sample_ns = b->budget.period_ns / b->n_chosen;
	return sample_ns > EAGER_STEP_NS ? sample_ns : EAGER_STEP_NS;
}

/* At a deadline too: the recording may end there. */
static bool is_to_settle(const struct us_bpf_session *b, uint64_t t_ns)
{
	return t_ns > b->settled_ns + LEAST_SETTLE_NS;
}

/* The next sample, in b->buffer.  What happened before a deadline is delivered before
 * one that is behind it, which may be the last that is asked for. */
static bool take(struct us_bpf_session *b, uint64_t deadline_ns, unsigned *ret_vcpu)
{
	uint64_t *t_ns = &b->buffer.sample.t_ns;
	if (b->held) {
		b->held = false;
		*ret_vcpu = b->held_vcpu;
		return true;
	}
	if (!us_bpf_client_take(b->machine.client, &b->buffer.sample, ret_vcpu))
		return false;
	b->held = b->overdue = *t_ns >= deadline_ns && is_to_settle(b, *t_ns);
	b->held_vcpu = *ret_vcpu;
	return true;
}

static int bpf_next(struct us_backend *base, uint64_t deadline_ns, struct us_capture *c)
{
	struct us_bpf_session *b = (struct us_bpf_session *)base;
	unsigned vcpu;
	for (;;) {
		if (us_bpf_deliver_rest(b, c))
			return 1;
		if (b->ended)
			return b->ended;
		if (b->overdue) {
			us_bpf_settle(b, us_now_ns(), deadline_ns);
			continue;
		}
		if (take(b, deadline_ns, &vcpu)) {
			if (!b->held && deliver_sample(b, vcpu, c))
				return 1;
			continue;
		}
		uint64_t now = us_now_ns();
		if (now >= b->settle_ns ||
		    (now >= deadline_ns && is_to_settle(b, now))) {
			us_bpf_settle(b, now, deadline_ns);
			continue;
		}
		if (now >= deadline_ns)
			return 0;
		uint64_t until = deadline_ns < b->settle_ns ? deadline_ns
							    : b->settle_ns;
		if (now < b->need.eager_ns && until > now + eager_step(b))
			until = now + eager_step(b);
		if (!us_bpf_client_wait(b->machine.client, until))
			return 0;
	}
}

static void bpf_release(struct us_backend *base, struct us_capture *c)
{
	struct us_bpf_session *b = (struct us_bpf_session *)base;
	c->held_ns = 0;
	if (c->form == US_CAPTURE_WINDOW && !b->stale)
		us_bpf_need_learn(&b->need, &c->window, c->cut);
}

static void bpf_point(struct us_backend *base, unsigned vcpu, us_gva at,
		      const struct us_pointed_plan *plan)
{
	struct us_bpf_session *b = (struct us_bpf_session *)base;
	b->plan_has_root = plan->root_upper != 0;
	us_bpf_machine_point(&b->machine, vcpu, at, plan);
}

static uint64_t due_of(const struct us_bpf_session *b, uint64_t periods)
{
	return (uint64_t)((double)periods * b->due_of_period);
}

/* The same, of parts of mean periods. */
static uint64_t due_of_parts(const struct us_bpf_session *b, uint64_t parts)
{
	return (uint64_t)((double)parts / US_BPF_WHOLE * b->due_of_period);
}

static void bpf_counts(const struct us_backend *base, struct us_backend_counts *ret)
{
	const struct us_bpf_session *b = (const struct us_bpf_session *)base;
	struct us_bpf_counts sum;
	us_bpf_machine_count(&b->machine, &sum);
	uint64_t skipped = sum.skipped - b->zero.skipped;
	uint64_t lost = sum.lost - b->zero.lost, failed = sum.foreign - b->zero.foreign;
	uint64_t no_sample = due_of_parts(b, lost + failed + skipped);
	*ret = b->counts;
	ret->stolen_ns = b->cost_ns;
	ret->lost = due_of_parts(b, lost);
	ret->failed = due_of_parts(b, failed);
	ret->backed_off = due_of(b, b->counts.backed_off);
	/* The vCPUs' clocks also miss the ticks that brought no sample. */
	ret->late -= ret->late < no_sample ? ret->late : no_sample;
	for (unsigned i = 0; i < b->base.n_vcpu; i++)
		ret->late += (uint64_t)(b->pace[i].owed * b->due_of_period);
	ret->vcpu_ns = b->lived_ns;
	uint64_t now = us_now_ns();
	for (unsigned i = 0; i < b->base.n_vcpu; i++)
		if (b->chosen[i] && !(b->gone >> i & 1))
			ret->vcpu_ns += now - b->clock[i].from_ns;
}

static void bpf_explain(const struct us_backend *base, int code, struct us_err *e)
{
	const struct us_bpf_session *b = (const struct us_bpf_session *)base;
	*e = b->why;
	e->code = code;
}

struct us_bpf_programs *us_bpf_programs_of(const struct us_backend *b)
{
	return ((const struct us_bpf_session *)b)->machine.programs;
}

const struct us_backend_ops us_backend_bpf = {
	.name = "bpf",
	.summary = "any KVM guest, without a stop: samples from the host's kernel",
	.probe = bpf_probe,
	.ready = bpf_ready,
	.open = bpf_open,
	.start = bpf_start,
	.close = bpf_close,
	.next = bpf_next,
	.release = bpf_release,
	.point = bpf_point,
	.counts = bpf_counts,
	.explain = bpf_explain,
};
