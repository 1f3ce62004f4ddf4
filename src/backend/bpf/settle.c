/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "backend/bpf/settle.h"

#include "base/clock.h"
#include "vmm/host.h"

#include <errno.h>
#include <poll.h>

#define GONE_NS US_NS_PER_SEC /* a thread that ends may be followed by another */

/* What the programs counted, and what the budget has cost. */
static void sum_up(struct us_bpf_session *b, uint64_t now)
{
	struct us_bpf_counts sum;
	bool changed;
	us_bpf_machine_count(&b->machine, &sum);
	uint64_t skipped = (sum.skipped - b->skipped) / US_BPF_WHOLE;
	b->skipped += skipped * US_BPF_WHOLE;
	b->counts.backed_off += us_bpf_budget_settle(&b->budget, now, skipped,
						     &changed);
	if (changed)
		us_bpf_session_set_timers(b);
}

static bool process_gone(const struct us_bpf_session *b)
{
	struct pollfd p = { .fd = b->pidfd, .events = POLLIN };
	return poll(&p, 1, 0) > 0;
}

static int end(struct us_bpf_session *b)
{
	pid_t pid = b->machine.guest.pid;
	return process_gone(b)
		       ? us_fail(&b->why, -ESRCH, "the VMM, pid %d, has ended", pid)
		       : us_fail(&b->why, -ESRCH,
				 "the guest's vCPUs have ended; the VMM, pid %d, goes "
				 "on",
				 pid);
}

/* Also observe a vCPU that was plugged in while the guest runs, or that another thread
 * runs now. */
static void observe(struct us_bpf_session *b, unsigned i, uint64_t now)
{
	bool again = i < b->base.n_vcpu;
	if (again && b->chosen[i] && !(b->gone >> i & 1)) /* another thread runs it */
		b->lived_ns += now - b->clock[i].from_ns;
	us_bpf_timer_close(&b->timer[i]);
	us_vcpu_clock_close(&b->clock[i]);
	b->gone &= ~(1ULL << i);
	if (us_bpf_session_open_vcpu(b, i, NULL) == 0)
		us_vcpu_clock_start(&b->clock[i], now);
	else /* it has ended already */
		us_bpf_session_set_gone(b, i, now);
	if (!again)
		us_bpf_session_choose(b, i);
	if (b->chosen[i])
		us_bpf_session_set_timer(b, i);
	/* Another thread may ask how many there are. */
	if (!again)
		__atomic_store_n(&b->base.n_vcpu, i + 1, __ATOMIC_RELAXED);
}

static void look_for_vcpus(struct us_bpf_session *b, uint64_t now)
{
	/* Another thread may go on with a vCPU at once. */
	bool must = b->gone && now - b->gone_ns < GONE_NS;
	if (now - b->plugged_ns < US_BPF_PLUG_NS && !must)
		return;
	b->plugged_ns = now;
	uint64_t away = 0;
	for (unsigned i = 0; i < b->base.n_vcpu; i++)
		away |= (uint64_t)b->clock[i].away << i;
	uint64_t fresh = us_bpf_machine_find_new(&b->machine, b->gone, away, must);
	if (!fresh)
		return;
	for (unsigned i = 0; i < b->machine.guest.n_vcpu; i++)
		if (fresh >> i & 1)
			observe(b, i, now);
	us_bpf_machine_set_budget(&b->machine, b->schedule.budget_ppm);
}

static void settle_vcpu(struct us_bpf_session *b, unsigned i, uint64_t now)
{
	struct us_vcpu_clock *c = &b->clock[i];
	us_vcpu_clock_settle(c, now, 2 * b->budget.period_ns, !b->overdue);
	b->counts.late += us_vcpu_clock_take(c, US_VCPU_GUEST,
					     us_bpf_session_unit_ns(b));
	if (c->gone && !(b->gone >> i & 1)) {
		b->gone |= 1ULL << i;
		b->gone_ns = now;
		b->lived_ns += now - c->from_ns;
	}
	if (us_bpf_pace_is_old(&b->pace[i]))
		us_bpf_session_set_timer(b, i);
}

static unsigned count_gone(const struct us_bpf_session *b)
{
	unsigned n = 0;
	for (unsigned i = 0; i < b->base.n_vcpu; i++)
		n += b->chosen[i] && b->clock[i].gone;
	return n;
}

/* A process that ends takes its time after its last thread of a vCPU. */
static bool has_ended(const struct us_bpf_session *b, uint64_t now)
{
	return process_gone(b) ||
	       (count_gone(b) == b->n_chosen && now - b->gone_ns >= GONE_NS);
}

void us_bpf_settle(struct us_bpf_session *b, uint64_t now, uint64_t deadline_ns)
{
	bool overdue = b->overdue;
	/* What is still in the ring comes behind it. */
	uint64_t stamp_ns = b->overdue ? b->buffer.sample.t_ns : now;
	b->stamp_ns = stamp_ns < deadline_ns ? stamp_ns : deadline_ns - 1;
	for (unsigned i = 0; i < b->base.n_vcpu; i++)
		if (b->chosen[i])
			settle_vcpu(b, i, now);
	b->budget.n_vcpu = b->n_chosen - count_gone(b);
	b->cost_ns += us_bpf_vmx_refresh(b->vmx, now);
	sum_up(b, now);
	us_bpf_need_settle(&b->need, now);
	us_bpf_wait_forget(&b->wait);
	look_for_vcpus(b, now);
	b->overdue = false;
	b->settled_ns = now;
	b->settle_ns = us_bpf_session_next_settle(b, now);
	b->next_slot = b->next_state = 0;
	/* What is in the ring is delivered before the end is told. */
	if (!overdue && has_ended(b, now))
		b->ended = end(b);
}

/* A halted vCPU does not run: the registers of its last exit show where it halted. */
static void add_registers(struct us_bpf_session *b, struct us_capture *c)
{
	struct us_bpf_sample l;
	if (!b->schedule.wake_halted || c->state != US_VCPU_HALTED ||
	    !us_bpf_machine_fetch(&b->machine, c->vcpu, &l))
		return;
	us_bpf_sample_regs(&l, &c->regs);
	c->form = US_CAPTURE_LIVE;
}

static const uint8_t unseen[] = { US_VCPU_HALTED, US_VCPU_READY, US_VCPU_OFF,
				  US_VCPU_EXIT };

/* If the caller asks where vCPUs halt, deliver only those that are halted now. */
static bool is_wanted(const struct us_bpf_session *b, uint8_t state)
{
	return !b->schedule.wake_halted || state != US_VCPU_HALTED ||
	       b->clock[b->next_slot].doing == US_KVM_ASLEEP;
}

bool us_bpf_deliver_rest(struct us_bpf_session *b, struct us_capture *c)
{
	for (; b->next_slot < b->base.n_vcpu; b->next_slot++, b->next_state = 0) {
		while (b->chosen[b->next_slot] && b->next_state < sizeof(unseen)) {
			uint8_t state = unseen[b->next_state++];
			uint32_t n = us_vcpu_clock_take(&b->clock[b->next_slot], state,
							us_bpf_session_unit_ns(b));
			if (!n || !is_wanted(b, state))
				continue;
			c->t_ns = b->stamp_ns;
			c->vcpu = (uint16_t)b->next_slot;
			c->weight = n;
			c->held_ns = 0;
			c->cut = false;
			c->host = NULL;
			c->pointed = NULL;
			c->state = state;
			c->exit = 0;
			c->form = US_CAPTURE_NONE;
			b->stale = false;
			add_registers(b, c);
			return true;
		}
	}
	return false;
}
