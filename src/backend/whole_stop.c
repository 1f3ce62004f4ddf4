/* SPDX-License-Identifier: GPL-2.0-or-later */
/* whole_stop.c: see whole_stop.h. */
#include "backend/whole_stop.h"
#include "base/clock.h"

#include <errno.h>
#include <string.h>

/* Samples that were due before the work that they found make up for as many, for so
 * long. */
#define MOST_EARLY 16
#define EARLY_NS   US_NS_PER_SEC
/* What a thread runs for that a stop's end woke and that sleeps again at once, on a
 * busy host; mostly it is 40 us. */
#define WAKE_NS	   (200 * US_NS_PER_US)
#define LEAST_REGS 8 /* that have to be known to tell by them */

static unsigned n_running(const struct us_whole_stop *w)
{
	unsigned n = 0;
	if (w->ops->paused(w->ctx))
		return 0;
	for (unsigned i = 0; i < w->n_vcpu; i++)
		n += w->got >> i & 1 && w->ops->ran(w->ctx, i);
	return n;
}

/*
 * For how long the guest's own time stood: what its vCPUs do until the next sample is
 * measured in that.  TCG's clock stands with the vCPUs, whether they ran or not; by KVM
 * it goes on for those that idle.
 */
static uint64_t stood_ns(const struct us_whole_stop *w, uint64_t stolen_ns,
			 uint64_t now)
{
	if (!w->sleeps_stopped || w->ops->paused(w->ctx))
		return stolen_ns;
	return now - w->t_ns;
}

/* All captures of this stop are done. */
static void end_sample(struct us_whole_stop *w)
{
	unsigned n = n_running(w);
	uint64_t now;
	w->broken = w->ops->resume(w->ctx, &now);
	unsigned n_failed = w->n_chosen - (unsigned)__builtin_popcountll(w->got);
	w->held = false;
	w->let_go_ns = now;
	uint64_t stolen_ns = (now - w->since_ns) * n / w->n_chosen;
	us_pacer_done_stood(&w->pacer, 0, now, stolen_ns, stood_ns(w, stolen_ns, now));
	if (n_failed)
		us_pacer_failed(&w->pacer, n_failed);
}

/*
 * The end of a stop wakes the threads of halted vCPUs, too.  On a busy host they then
 * wait longer than they run before they sleep again, and until then look as if they had
 * work; what has slept since was woken by work.
 */
static bool only_woken(uint64_t ran, uint64_t waited, uint64_t since)
{
	return waited > ran && (ran + waited) * 2 > since;
}

/* What the threads of the vCPUs had run when the sample was due. */
static void note_due(struct us_whole_stop *w)
{
	uint64_t mask = w->sleeps_stopped ? w->mask : 0;
	w->due_known = 0;
	for (unsigned i = 0; i < w->n_vcpu; i++)
		if (mask >> i & 1 && us_vcpu_threads_known(&w->threads, i) &&
		    us_vcpu_threads_time(&w->threads, i, &w->time_due[i]))
			w->due_known |= 1ULL << i;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t worked_ns(const struct us_vcpu_thread_time *was,
			  const struct us_vcpu_thread_time *is)
{
	return is->ran - was->ran + is->waited - was->waited;
}

/*
 * Until the VMM has got a host CPU for our request, the vCPUs run on: nothing is taken
 * from them.  How long a vCPU did not run since the last stop is the time since then
 * less what its thread ran, or waited for a CPU.  If that is more than the time since
 * the request, it idled before, and what its thread ran since the sample was due
 * counts: where it ran then, up to a tick of the host's scheduler too much.
 */
static uint64_t not_run_ns(struct us_whole_stop *w, unsigned vcpu, uint64_t now)
{
	uint64_t bit = 1ULL << vcpu, known = w->time_known & bit;
	uint64_t least = now - w->t_ns, most = now - w->asked_ns;
	struct us_vcpu_thread_time was = w->time[vcpu], *is = &w->time[vcpu];
	w->time_known &= ~bit;
	w->ran_ns[vcpu] = UINT64_MAX;
	if (!w->sleeps_stopped || !us_vcpu_threads_time(&w->threads, vcpu, is))
		return most;
	w->time_known |= bit;
	uint64_t since = now - w->let_go_ns, not_ran = UINT64_MAX;
	if (known) {
		if (only_woken(is->ran - was.ran, is->waited - was.waited, since))
			w->woken |= bit;
		not_ran = less(since, worked_ns(&was, is));
		w->ran_ns[vcpu] = is->ran - was.ran;
	}
	w->idled |= not_ran > most ? bit : 0;
	if (not_ran > most && w->due_known & bit)
		not_ran = less(most, worked_ns(&w->time_due[vcpu], is));
	return not_ran > most ? most : not_ran < least ? least : not_ran;
}

/*
 * Since when those vCPUs that ran have been held, on average.
 */
static void find_since(struct us_whole_stop *w, uint64_t now)
{
	uint64_t held = 0, n = 0;
	for (unsigned i = 0; i < w->n_vcpu; i++) {
		uint64_t ns = w->mask >> i & 1 ? not_run_ns(w, i, now) : 0;
		if (!(w->got >> i & 1 && w->ops->ran(w->ctx, i)))
			continue;
		held += ns;
		n++;
	}
	w->since_ns = n ? now - held / n : w->asked_ns;
}

/*
 * For which part of the wait for the stop did a vCPU work that had nothing to do when
 * the sample was due?  QEMU's main loop wakes the vCPU for a timer, and may have to
 * leave it its CPU until the work is done.  The stop wakes it, too: then it runs for a
 * short time, though on a busy host it may wait for long before.
 */
static double worked_since(const struct us_whole_stop *w, unsigned vcpu)
{
	uint64_t bit = 1ULL << vcpu, wait = w->t_ns - w->asked_ns;
	const struct us_vcpu_thread_time *was = &w->time_due[vcpu],
					 *is = &w->time[vcpu];
	if (!(w->due_known & w->time_known & ~w->busy & bit) ||
	    w->t_ns <= w->asked_ns ||
	    only_woken(is->ran - was->ran, is->waited - was->waited, wait))
		return 0;
	uint64_t worked = worked_ns(was, is);
	return worked >= wait	   ? 1
	       : worked < wait / 2 ? 0
				   : (double)worked / (double)wait;
}

static void tell_state_since(struct us_whole_stop *w, unsigned n_busy)
{
	double state = n_busy;
	for (unsigned i = 0; i < w->n_vcpu; i++)
		state += worked_since(w, i);
	us_pacer_was_in(&w->pacer, 0, state);
}

static void find_next(struct us_whole_stop *w)
{
	while (w->at < w->n_vcpu && !(w->got >> w->at & 1))
		w->at++;
}

/* What it took from the guest was taken all the same. */
static int lose_sample(struct us_whole_stop *w, int r)
{
	if (w->undone_ns) {
		us_pacer_done(&w->pacer, 0, us_now_ns(), w->undone_ns);
		us_pacer_failed(&w->pacer, w->pacer.weight);
	}
	return w->broken = r;
}

static int begin_sample(struct us_whole_stop *w)
{
	w->busy = w->runs_halted ? 0 : us_vcpu_threads_busy(&w->threads);
	w->got = w->woken = w->idled = 0;
	unsigned n_busy = (unsigned)__builtin_popcountll(w->busy & w->mask);
	if (!us_pacer_wants(&w->pacer, 0, us_now_ns(), n_busy))
		return 0;
	note_due(w);
	us_running_pc_read(&w->running, w->busy & w->mask);
	w->undone_ns = 0;
	int r = w->ops->sample(w->ctx);
	if (r < 0)
		return lose_sample(w, r);
	w->at = 0;
	find_since(w, us_now_ns());
	tell_state_since(w, n_busy);
	w->told_ns = w->since_ns;
	w->held = true;
	find_next(w);
	if (w->at >= w->n_vcpu)
		end_sample(w);
	return w->broken;
}

/*
 * The vCPU ran when the sample was due, and stood by the time it was stopped: busy, but
 * where is not known.  As long before the work there was a time when a sample was due
 * without work and found it: one of these, not long ago, counts as this one, and work
 * keeps its share.
 */
static bool counts_as_busy(struct us_whole_stop *w, unsigned vcpu)
{
	if (!w->early[vcpu] || w->t_ns - w->early_ns > EARLY_NS)
		return true;
	w->early[vcpu]--;
	return false;
}

/* A thread that slept may have waited in the VMM for the guest's work: not if it idled
 * since the last stop. */
static void count_early(struct us_whole_stop *w, unsigned vcpu)
{
	if (!((w->idled & ~w->busy) >> vcpu & 1))
		return;
	if (w->t_ns - w->early_ns > EARLY_NS)
		memset(w->early, 0, sizeof(w->early));
	w->early_ns = w->t_ns;
	w->early[vcpu] += w->early[vcpu] < MOST_EARLY;
}

static bool same_regs(const struct us_regs *a, const struct us_regs *b)
{
	if (a->pc != b->pc || a->sp != b->sp || a->valid != b->valid ||
	    __builtin_popcount(a->valid) < LEAST_REGS)
		return false;
	for (unsigned i = 0; i < US_MAX_GPR; i++)
		if (a->valid >> i & 1 && a->gpr[i] != b->gpr[i])
			return false;
	return true;
}

/*
 * Has this vCPU executed nothing since the last stop?  Its thread may look as if it had
 * work: the end of the stop woke it together with all others, and they pass QEMU's lock
 * on from one to the next.  Those that wait for the lock sleep, so only_woken() takes
 * them for woken by work.  Handlers of interrupts leave no trace in the registers, but
 * take longer than such a wake.
 */
static bool stood_still(struct us_whole_stop *w, unsigned vcpu,
			const struct us_capture *c)
{
	uint64_t bit = 1ULL << vcpu;
	if (c->state != US_VCPU_HALTED) {
		w->halted &= ~bit;
		return false;
	}
	bool same = w->halted & bit && same_regs(&w->halted_regs[vcpu], &c->regs);
	w->halted |= bit;
	w->halted_regs[vcpu] = c->regs;
	return same && w->ran_ns[vcpu] < WAKE_NS;
}

static void deliver(struct us_whole_stop *w, struct us_capture *c)
{
	c->t_ns = w->t_ns;
	c->held_ns = 0;
	c->vcpu = (uint16_t)w->at;
	c->weight = 1;
	c->form = US_CAPTURE_LIVE;
	w->ops->fill(w->ctx, w->at, c);
	if (stood_still(w, w->at, c))
		w->woken |= 1ULL << w->at;
	if (c->state == US_VCPU_HALTED && (w->busy & ~w->woken) >> w->at & 1) {
		if (!counts_as_busy(w, w->at))
			return;
		c->state = US_VCPU_GUEST;
		c->form = US_CAPTURE_NONE;
	} else if (c->state == US_VCPU_GUEST) {
		count_early(w, w->at);
		us_running_pc_stopped(&w->running, w->at, &c->regs);
	}
}

int us_whole_stop_next(struct us_whole_stop *w, uint64_t deadline_ns,
		       struct us_capture *c)
{
	while (!w->held) {
		if (w->broken)
			return w->broken;
		uint64_t due_ns;
		us_pacer_next(&w->pacer, &due_ns);
		int r = w->ops->sleep(w->ctx,
				      due_ns < deadline_ns ? due_ns : deadline_ns);
		if (r < 0)
			return r == -EINTR ? 0 : (w->broken = r);
		if (due_ns > deadline_ns)
			return 0;
		r = begin_sample(w);
		if (r < 0)
			return r;
		if (!w->held && us_now_ns() >= deadline_ns)
			return 0;
	}
	deliver(w, c);
	return 1;
}

/* The captures of one stop share its time: each gets what passed since the one before
 * it was released. */
void us_whole_stop_release(struct us_whole_stop *w, struct us_capture *c)
{
	w->at++;
	find_next(w);
	if (w->at >= w->n_vcpu)
		end_sample(w);
	uint64_t now = w->held ? us_now_ns() : w->let_go_ns;
	c->held_ns = w->ops->paused(w->ctx) ? 0 : now - w->told_ns;
	w->told_ns = now;
}

void us_whole_stop_let_go(struct us_whole_stop *w)
{
	if (w->held)
		end_sample(w);
}

int us_whole_stop_start(struct us_whole_stop *w, const struct us_schedule *s,
			const struct us_guest *guest, struct us_err *e)
{
	us_whole_stop_let_go(w);
	w->halted = 0;
	int r = us_pacer_init_whole(&w->pacer, s, w->n_vcpu, &w->mask, e);
	if (r < 0)
		return r;
	w->n_chosen = w->pacer.weight;
	if (!s->wake_halted)
		us_vcpu_threads_open(&w->threads, guest);
	if (!s->wake_halted && w->sleeps_stopped)
		us_running_pc_open(&w->running, guest);
	return 0;
}

void us_whole_stop_close(struct us_whole_stop *w)
{
	us_vcpu_threads_close(&w->threads);
	us_running_pc_close(&w->running);
}

void us_whole_stop_counts(const struct us_whole_stop *w, struct us_backend_counts *ret)
{
	us_pacer_counts(&w->pacer, us_now_ns(), ret);
}
