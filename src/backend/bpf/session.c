/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "backend/bpf/session.h"

#include "base/clock.h"
#include "base/random.h"

int us_bpf_session_open_vcpu(struct us_bpf_session *b, unsigned vcpu, struct us_err *e)
{
	const struct us_bpf_machine *m = &b->machine;
	int r = us_vcpu_clock_open(&b->clock[vcpu], m->guest.pid, &m->guest.vcpu[vcpu],
				   &b->timer[vcpu], e);
	b->clock[vcpu].off = !m->started[vcpu];
	if (!r)
		r = us_bpf_timer_open(&b->timer[vcpu], m->programs,
				      m->guest.vcpu[vcpu].tid, m->row[vcpu], e);
	return r;
}

void us_bpf_session_set_gone(struct us_bpf_session *b, unsigned vcpu, uint64_t now_ns)
{
	us_bpf_timer_close(&b->timer[vcpu]);
	us_vcpu_clock_close(&b->clock[vcpu]);
	b->clock[vcpu].gone = true;
	b->gone |= 1ULL << vcpu;
	b->gone_ns = now_ns;
}

void us_bpf_session_choose(struct us_bpf_session *b, unsigned vcpu)
{
	uint64_t mask = b->schedule.vcpu_mask;
	b->chosen[vcpu] = !mask || mask >> vcpu & 1;
	b->n_chosen += b->chosen[vcpu];
}

uint64_t us_bpf_session_unit_ns(const struct us_bpf_session *b)
{
	return (uint64_t)((double)b->budget.period_ns / b->due_of_period);
}

/* Settling restarts the ticks, so it must not be in step with the guest either. */
uint64_t us_bpf_session_next_settle(struct us_bpf_session *b, uint64_t now_ns)
{
	double part = 0.75 + us_random_share(&b->random) / 2;
	return now_ns + (uint64_t)((double)b->pause_ns * part);
}

void us_bpf_session_set_timer(struct us_bpf_session *b, unsigned vcpu)
{
	struct us_bpf_pace *p = &b->pace[vcpu];
	struct us_bpf_row *row = us_bpf_machine_row(&b->machine, vcpu);
	us_bpf_timer_set(&b->timer[vcpu], us_bpf_pace_draw(p, b->budget.period_ns));
	row->tick_ns = 0;
	row->beat_part = (uint64_t)(p->next.part * US_BPF_WHOLE);
	uint64_t now = us_now_ns();
	struct us_bpf_beat lost = us_bpf_pace_set(p, now);
	if (lost.period_ns)
		us_vcpu_clock_tick(&b->clock[vcpu], now, lost.period_ns);
	p->due += lost.part * b->due_of_period;
	row->near_ns = us_bpf_pace_near(p);
}

void us_bpf_session_set_timers(struct us_bpf_session *b)
{
	for (unsigned i = 0; i < b->base.n_vcpu; i++)
		if (b->chosen[i])
			us_bpf_session_set_timer(b, i);
}
