/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen.c: look into a Xen domain from dom0.
 *
 * One pause stops all vCPUs of the domain.  vCPUs that wait for an event (blocked)
 * count as idle; if all do, the domain is not paused.  During the pause, uniscope reads
 * the registers of the other vCPUs and copies their stacks.  Then it resumes the
 * domain, or with the release of the last capture if a stack has to be unwound in the
 * domain's memory (xen/stacks.h).  Xen counts pauses, so a domain that its owner has
 * paused stays paused.
 *
 * A system call costs dom0 far more than the work that Xen does for it.  One call
 * therefore asks for everything that a sample needs, with a pause and the registers of
 * the vCPUs that were busy at the previous sample; a second call resumes the domain.
 * If the domain has become idle in between, it is paused for nothing, once.
 */
#include "backend/backend.h"
#include "backend/pacer.h"
#include "backend/watchdog.h"
#include "backend/xen/ask.h"
#include "backend/xen/moved.h"
#include "backend/xen/pages.h"
#include "backend/xen/rest.h"
#include "backend/xen/stacks.h"
#include "base/clock.h"
#include "base/rights.h"
#include "vmm/xen/domains.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define HOLD_LIMIT_MS 3000
/* How often to ask whether it has ended or been paused, while all its vCPUs run. */
#define CHECK_NS (100 * US_NS_PER_MS)

extern const struct us_backend_ops us_backend_xen;

struct xen {
	struct us_backend base;
	const struct us_xen_calls *calls;
	void *handle;
	struct us_xen_domain domain; /* as of the last sample */
	struct us_watchdog *watchdog;
	struct memory { /* for the sampler, and for one other thread */
		void *handle;
		struct us_xen_pages pages;
		struct us_mem mem;
	} * memory[2];
	struct us_xen_stacks stacks;
	struct us_pacer pacer;
	struct us_xen_rest rest;
	bool precise;  /* the sampler's timer slack is set */
	bool by_parts; /* this Xen does not accept several calls in one */
	uint64_t mask;
	unsigned n_chosen;

	bool held;	     /* paused by us */
	bool resumed;	     /* it runs while the captures are delivered ... */
	uint64_t share_ns;   /* ... each of which has this part of the pause */
	uint64_t stolen_ns;  /* by the pause, from all vCPUs */
	uint64_t working_ns; /* at work since then; 0: not at work */
	uint64_t left_ns;    /* when next() returned without a sample; 0: it did not */
	uint64_t asked_ns, told_ns, let_go_ns;
	struct us_xen_moved moved;
	uint64_t check_ns;  /* from then on, a sample asks for the domain's state */
	uint64_t busy;	    /* bit n: vCPU n had to be read at the last sample */
	unsigned n_running; /* vCPUs that the pause took time from */
	unsigned n_live;    /* captures that need the domain held */
	unsigned n_out, at; /* captures of this sample; the next of them */
	struct out {
		uint16_t vcpu;
		uint8_t state, form;
		struct us_stack_copy window;
	} out[US_MAX_VCPUS];
	struct us_xen_sample sample; /* what was asked for this sample */
	int broken;
	const char *why;
};

static int xen_probe(const struct us_target *t, struct us_err *why)
{
	if (t->xen)
		return 1;
	us_fail(why, -ENODEV, "not a Xen domain");
	us_hint(why, "in dom0: uniscope record xen:NAME");
	return 0;
}

static int xen_ready(struct us_err *why)
{
	const struct us_xen_calls *calls = us_xen_calls();
	void *h = NULL;
	int r = calls->open(&h, why);
	if (r == 0)
		calls->close(h);
	return r;
}

static int failed(struct xen *b, int code, const char *why)
{
	b->why = why;
	b->broken = code == -ESRCH ? code : -ECONNRESET;
	b->n_out = b->n_live = b->at = 0;
	return b->broken;
}

/* A call may be the first to find that the domain has ended. */
static const char *gone_or(int code, const char *why)
{
	return code == -ESRCH ? "it is gone" : why;
}

/* In the watchdog's process: a child cannot use the parent's handle, so open another.
 */
static void prepare_rescue(void *ctx)
{
	struct xen *b = ctx;
	if (b->calls->open(&b->handle, NULL) < 0)
		b->handle = NULL;
}

/* If the first attempt to open a handle failed: Xen's devices are root's, and what is
 * passed to Xen is locked in memory. */
#define TO_OPEN (US_RIGHT(CAP_DAC_OVERRIDE) | US_RIGHT(CAP_IPC_LOCK))

/* A pause that is still in effect is ours: the domain ran before it. */
static void rescue(void *ctx, bool held)
{
	struct xen *b = ctx;
	struct us_xen_domain d;
	if (!b->handle)
		prepare_rescue(b);
	if (!held || !b->handle)
		return;
	if (b->calls->domain(b->handle, b->domain.id, &d) == 0 && d.paused)
		(void)!b->calls->unpause(b->handle, b->domain.id);
}

/* Once for each pause: Xen counts them, and one more would undo somebody else's. */
static void unpause_domain(struct xen *b)
{
	if (!b->held)
		return;
	b->held = false;
	if (us_watchdog_fired(b->watchdog)) {
		failed(b, -ECONNRESET, "the watchdog had to resume the domain");
		return;
	}
	int r = b->calls->unpause(b->handle, b->domain.id);
	if (!us_watchdog_release(b->watchdog) && r == 0)
		r = -ECONNRESET;
	if (r < 0)
		failed(b, r, gone_or(r, "Xen does not resume the domain"));
}

/* No vCPU runs, whatever Xen says about each. */
static bool stands(const struct us_xen_domain *d)
{
	return d->paused || d->shut_down;
}

/* Has it ended? */
static int check_domain(struct xen *b, const struct us_xen_sample *l)
{
	if (!l->state)
		return 0;
	if (l->domain_code < 0)
		return failed(b, l->domain_code,
			      gone_or(l->domain_code, "Xen does not report its state"));
	b->domain = l->domain;
	if (us_xen_has_ended(&b->domain))
		return failed(b, -ESRCH,
			      b->domain.dying ? "it is being destroyed"
					      : "it has shut down or crashed");
	return 0;
}

/* If this sample did not ask for the domain's state, it may have ended.  Whether its
 * owner has paused it is left to the next sample: now the pause may be ours. */
static int check_again(struct xen *b)
{
	struct us_xen_sample *l = &b->sample;
	b->check_ns = 0;
	if (l->state)
		return 0;
	l->state = true;
	l->domain_code = b->calls->domain(b->handle, b->domain.id, &l->domain);
	l->domain.paused = b->domain.paused;
	int r = check_domain(b, l);
	if (r < 0)
		unpause_domain(b);
	return r;
}

/* One call: the state of the vCPUs, and if regs is not 0 a pause with the registers. */
static int ask(struct xen *b, uint64_t vcpus, uint64_t regs)
{
	struct us_xen_sample *l = &b->sample;
	l->vcpus = vcpus;
	l->regs = regs;
	l->pause = regs != 0;
	if (l->pause && !us_watchdog_hold_since(b->watchdog, &b->asked_ns))
		return failed(b, -ECONNRESET, "the watchdog had to resume the domain");
	int r = us_xen_ask(b->calls, b->handle, &b->domain, l, &b->by_parts);
	b->held = l->pause && r == 0 && l->pause_code == 0;
	if (l->pause && !b->held)
		(void)!us_watchdog_release(b->watchdog);
	if (r < 0)
		return failed(b, r, gone_or(r, "Xen does not answer"));
	r = check_domain(b, l);
	if (r == 0 && l->pause && l->pause_code < 0)
		r = failed(b, l->pause_code,
			   gone_or(l->pause_code, "Xen does not pause the domain"));
	if (r < 0)
		unpause_domain(b);
	return r;
}

/* What a vCPU did when the sample was due, from what Xen says about it. */
static uint8_t state_of(const struct xen *b, unsigned vcpu, const struct us_xen_vcpu *v)
{
	if (!v->online || stands(&b->domain))
		return US_VCPU_OFF;
	if (v->blocked)
		return US_VCPU_HALTED;
	/* If it has run since the last sample, it is off the CPU now only because the
	 * sampler is on it. */
	return b->moved.ran >> vcpu & 1 ? US_VCPU_GUEST : US_VCPU_READY;
}

static bool wants_regs(const struct xen *b, const struct us_xen_vcpu *v, uint8_t state)
{
	bool stands = state == US_VCPU_HALTED || state == US_VCPU_OFF;
	return v->online && (!stands || b->pacer.schedule.wake_halted);
}

/* Fill out[], with the vCPUs that have to be read first.  true: since the last sample
 * all vCPUs have run or had no time to.  If one has run, the domain has not ended. */
static bool list_vcpus(struct xen *b)
{
	unsigned n_idle = 0;
	struct {
		uint16_t vcpu;
		uint8_t state;
	} idle[US_MAX_VCPUS];
	b->n_out = b->n_live = b->n_running = b->at = 0;
	b->busy = 0;
	/* If Xen was not asked about all vCPUs, an earlier answer stays valid. */
	if (b->sample.vcpus == b->mask)
		b->rest.apart = false;
	for (uint64_t left = b->sample.vcpus_known; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		const struct us_xen_vcpu *v = &b->sample.vcpu[i];
		uint8_t state = state_of(b, i, v);
		bool live = wants_regs(b, v, state);
		if (live) {
			struct out *o = &b->out[b->n_live++];
			o->vcpu = (uint16_t)i;
			o->state = state;
			o->form = US_CAPTURE_LIVE;
		} else {
			idle[n_idle].vcpu = (uint16_t)i;
			idle[n_idle++].state = state;
		}
		b->busy |= (uint64_t)live << i;
		b->n_running += state == US_VCPU_GUEST;
		/* It runs while the sampler does, so it has another CPU. */
		b->rest.apart |= v->running;
	}
	b->n_out = b->n_live + n_idle;
	for (unsigned k = 0; k < n_idle; k++) {
		struct out *o = &b->out[b->n_live + k];
		o->vcpu = idle[k].vcpu;
		o->state = idle[k].state;
		o->form = US_CAPTURE_NONE;
	}
	return (b->moved.ran | b->moved.short_of_time) == b->mask;
}

/* Read the registers that did not come with the pause.  A vCPU whose registers cannot
 * be read has only its state. */
static void read_vcpus(struct xen *b)
{
	struct us_xen_sample *l = &b->sample;
	for (unsigned i = 0; i < b->n_live; i++) {
		struct out *o = &b->out[i];
		unsigned v = o->vcpu;
		if (!(l->regs_read >> v & 1))
			l->regs_code[v] = b->calls->regs(b->handle, &b->domain, v,
							 &l->reg[v]);
		if (l->regs_code[v] < 0)
			o->form = US_CAPTURE_NONE;
		if (l->regs_code[v] == -ENODATA)
			o->state = US_VCPU_OFF;
	}
}

/* true: nothing more has to be read from the paused domain. */
static bool copy_stacks(struct xen *b)
{
	bool all = true;
	us_xen_stacks_new_sample(&b->stacks);
	for (unsigned i = 0; i < b->n_live; i++) {
		struct out *o = &b->out[i];
		if (o->form != US_CAPTURE_LIVE)
			continue;
		all &= us_xen_stacks_copy(&b->stacks, o->vcpu, &b->sample.reg[o->vcpu],
					  &o->window);
		o->form = US_CAPTURE_WINDOW;
	}
	return all;
}

/* The domain goes on. */
static void resume(struct xen *b)
{
	bool held = b->held;
	unpause_domain(b);
	b->let_go_ns = held ? us_watchdog_let_go_ns(b->watchdog) : us_now_ns();
	uint64_t stood_ns = held ? b->let_go_ns - b->asked_ns : 0;
	b->stolen_ns = stood_ns * b->n_running / b->n_chosen;
	b->share_ns = b->n_live ? stood_ns / b->n_live : 0;
	b->resumed = true;
}

/* Pause the domain if a vCPU has to be read.  If its owner has paused it, or it is
 * suspended, that is enough; then no pause of ours is left behind if we are killed. */
static int pause_now(struct xen *b)
{
	if (!b->n_live || b->held || stands(&b->domain))
		return 0;
	b->asked_ns = us_now_ns();
	b->sample.state = false;
	return ask(b, 0, b->busy);
}

static int sample(struct xen *b)
{
	b->resumed = false;
	b->sample.regs_read = 0;
	b->asked_ns = b->working_ns;
	b->sample.state = !b->busy || b->working_ns >= b->check_ns;
	if (b->sample.state)
		b->check_ns = b->working_ns + CHECK_NS;
	uint64_t vcpus = b->sample.state
				 ? b->mask
				 : us_xen_moved_ask(&b->moved, b->mask, b->working_ns);
	int r = ask(b, vcpus, b->busy);
	if (r < 0)
		return r;
	us_xen_moved_tell(&b->moved, b->calls, b->handle, &b->domain, &b->sample,
			  b->mask, b->asked_ns);
	r = list_vcpus(b) ? 0 : check_again(b);
	if (r == 0)
		r = pause_now(b);
	if (r < 0)
		return r;
	b->told_ns = b->asked_ns;
	read_vcpus(b);
	if (!b->n_live || copy_stacks(b))
		resume(b);
	return 0;
}

/* All captures with a stack have been released. */
static void finish(struct xen *b)
{
	if (!b->resumed)
		resume(b);
	us_xen_pages_settle(&b->memory[0]->pages, b->let_go_ns);
	us_pacer_done(&b->pacer, 0, b->let_go_ns, b->stolen_ns);
	if (b->n_out < b->n_chosen)
		us_pacer_failed(&b->pacer, b->n_chosen - b->n_out);
}

/* Wait for the next sample.  false: the deadline or a signal came first. */
static bool wait_for_due(struct xen *b, uint64_t deadline_ns)
{
	uint64_t now = us_now_ns(), due;
	us_pacer_next(&b->pacer, &due);
	if (b->working_ns)
		us_xen_rest_worked(&b->rest, now - b->working_ns);
	if (b->left_ns)
		us_xen_rest_waited(&b->rest, b->left_ns, now, now, false);
	b->working_ns = b->left_ns = 0;
	uint64_t until = us_xen_rest_until(&b->rest, now, due);
	if (until <= now || (us_xen_rest_can_wait(&b->rest, now, until) &&
			     us_pacer_is_free(&b->pacer, 0, now))) {
		us_xen_rest_goes_on(&b->rest, now, due);
		b->working_ns = now;
		return true;
	}
	bool in_time = until <= deadline_ns;
	if (!in_time)
		until = deadline_ns;
	bool whole = us_pacer_sleep(until) == 0;
	uint64_t woken = us_now_ns();
	us_xen_rest_waited(&b->rest, now, until, woken, whole && in_time);
	if (whole && in_time)
		b->working_ns = woken;
	else
		b->left_ns = woken;
	return b->working_ns;
}

static int xen_next(struct us_backend *base, uint64_t deadline_ns, struct us_capture *c)
{
	struct xen *b = (struct xen *)base;
	/* The kernel may otherwise wake us 50 us late, to save power. */
	if (!b->precise)
		b->precise = prctl(PR_SET_TIMERSLACK, 1) == 0;
	while (b->at >= b->n_out) {
		if (b->broken)
			return b->broken;
		if (!wait_for_due(b, deadline_ns))
			return 0;
		int r = sample(b);
		if (r < 0)
			return r;
		if (!b->n_live)
			finish(b);
	}
	const struct out *o = &b->out[b->at];
	c->t_ns = b->asked_ns;
	c->held_ns = 0;
	c->vcpu = o->vcpu;
	c->weight = 1;
	c->state = o->state;
	c->form = o->form;
	c->regs = b->sample.reg[o->vcpu];
	if (o->form == US_CAPTURE_WINDOW) {
		const struct us_stack_window *w = &o->window.window[0];
		us_stack_copy_begin(&c->window, w->base, w->bytes, w->len);
		c->window.held = o->window.held;
	}
	c->cut = false;
	return 1;
}

/* The captures of one pause share its time: equally if the domain runs already, else
 * each gets the time since the one before it was released. */
static void xen_release(struct us_backend *base, struct us_capture *c)
{
	struct xen *b = (struct xen *)base;
	bool held = b->held, early = b->resumed && b->at < b->n_live;
	if (c->form == US_CAPTURE_WINDOW)
		us_xen_stacks_learn(&b->stacks, c->vcpu, &c->window);
	if (++b->at == b->n_live)
		finish(b);
	if (early) {
		c->held_ns = b->share_ns;
		return;
	}
	uint64_t now = b->held ? us_now_ns() : b->let_go_ns;
	c->held_ns = held ? now - b->told_ns : 0;
	b->told_ns = now;
}

static void xen_let_go(struct us_backend *base)
{
	struct xen *b = (struct xen *)base;
	if (b->at < b->n_live)
		finish(b);
	b->n_out = b->n_live = b->at = 0;
}

static void xen_counts(const struct us_backend *base, struct us_backend_counts *ret)
{
	const struct xen *b = (const struct xen *)base;
	us_pacer_counts(&b->pacer, us_now_ns(), ret);
}

static void xen_explain(const struct us_backend *base, int code, struct us_err *e)
{
	const struct xen *b = (const struct xen *)base;
	us_fail(e, code, "%s domain %u: %s", code == -ESRCH ? "the end of" : "lost",
		b->domain.id, b->why ? b->why : "Xen does not answer");
}

/* Setup. */

static int start_watchdog(struct xen *b, struct us_err *e)
{
	struct us_watchdog_opts o = { .prepare = prepare_rescue,
				      .resume = rescue,
				      .ctx = b,
				      .limit_ms = HOLD_LIMIT_MS,
				      .rights = TO_OPEN };
	return us_watchdog_start(&o, &b->watchdog, e);
}

static int open_memory(struct xen *b, struct memory **ret, struct us_err *e)
{
	struct memory *m = *ret = calloc(1, sizeof(*m));
	if (!m)
		return us_fail(e, -ENOMEM, "out of memory");
	int r = b->calls->open(&m->handle, e);
	if (r < 0)
		return r;
	us_xen_pages_init(&m->pages, b->calls, m->handle, b->domain.id);
	m->mem.page = us_xen_pages_get;
	m->mem.ctx = &m->pages;
	us_mem_init(&m->mem);
	return 0;
}

static void close_memory(struct xen *b, struct memory *m)
{
	if (!m)
		return;
	if (m->handle) {
		us_xen_pages_fini(&m->pages);
		b->calls->close(m->handle);
	}
	free(m);
}

static int open_domain(struct xen *b, uint32_t id, struct us_err *e)
{
	int r = b->calls->open(&b->handle, e);
	if (r < 0)
		return r;
	r = b->calls->domain(b->handle, id, &b->domain);
	if (r < 0)
		return us_fail(e, r, "ask Xen for domain %u: %s", id, strerror(-r));
	if (!b->domain.n_vcpu || b->domain.n_vcpu > US_MAX_VCPUS)
		return us_fail(e, -ENOTSUP,
			       "it has %u vCPUs, and uniscope supports 1 to %d",
			       b->domain.n_vcpu, US_MAX_VCPUS);
	if (b->domain.kind == US_XEN_PV && b->calls->width(b->handle, id) != 64)
		return us_fail(e, -ENOTSUP, "its kernel is 32-bit PV");
	r = start_watchdog(b, e);
	for (int i = 0; r == 0 && i < 2; i++)
		r = open_memory(b, &b->memory[i], e);
	if (r == 0)
		r = us_xen_stacks_init(&b->stacks, &b->memory[0]->mem,
				       &b->memory[0]->pages, b->domain.n_vcpu, e);
	if (r == 0) {
		b->memory[1]->pages.alone = true;
		b->memory[1]->mem.read = us_xen_pages_read;
	}
	return r;
}

static void describe(struct xen *b)
{
	struct us_backend *base = &b->base;
	base->n_vcpu = b->domain.n_vcpu;
	base->arch = b->calls->arch;
	base->caps = US_CAP_FREEZE | US_CAP_MAP | US_CAP_ALL_GPRS | US_CAP_WATCHDOG;
	base->mem = &b->memory[0]->mem;
	base->other_mem = &b->memory[1]->mem;
	snprintf(base->how, sizeof(base->how), "%s domain %u by %s, pages mapped%s",
		 us_xen_kind_name(b->domain.kind), b->domain.id,
		 b->calls->how(b->handle),
		 b->domain.paused ? ", the domain is paused" : "");
}

static void xen_close(struct us_backend *base)
{
	struct xen *b = (struct xen *)base;
	if (!b)
		return;
	unpause_domain(b);
	us_watchdog_stop(b->watchdog);
	us_xen_stacks_fini(&b->stacks);
	for (int i = 0; i < 2; i++)
		close_memory(b, b->memory[i]);
	if (b->handle)
		b->calls->close(b->handle);
	free(b);
}

static int xen_open(const struct us_target *t, struct us_backend **ret,
		    struct us_err *e)
{
	if (!xen_probe(t, e))
		return -ENODEV;
	struct xen *b = calloc(1, sizeof(*b));
	if (!b)
		return us_fail(e, -ENOMEM, "open a domain: out of memory");
	b->base.ops = &us_backend_xen;
	b->calls = t->xen_calls ? t->xen_calls : us_xen_calls();
	int r = open_domain(b, t->xen->domain.id, e);
	if (r < 0) {
		xen_close(&b->base);
		return us_wrap(e, "open domain %u", t->xen->domain.id), r;
	}
	describe(b);
	*ret = &b->base;
	return 0;
}

static int xen_start(struct us_backend *base, const struct us_schedule *s,
		     struct us_err *e)
{
	struct xen *b = (struct xen *)base;
	xen_let_go(base); /* else our pause would look like its owner's */
	int r = us_pacer_init_whole(&b->pacer, s, base->n_vcpu, &b->mask, e);
	if (r < 0)
		return r;
	b->n_chosen = b->pacer.weight;
	b->busy = b->working_ns = b->left_ns = b->check_ns = 0;
	b->moved = (struct us_xen_moved){ 0 };
	us_xen_rest_init(&b->rest, sysconf(_SC_NPROCESSORS_ONLN) < 2);
	return 0;
}

const struct us_backend_ops us_backend_xen = {
	.name = "xen",
	.summary =
		"Xen domains, from dom0; pauses the domain for microseconds a sample",
	.probe = xen_probe,
	.ready = xen_ready,
	.open = xen_open,
	.start = xen_start,
	.close = xen_close,
	.next = xen_next,
	.release = xen_release,
	.let_go = xen_let_go,
	.counts = xen_counts,
	.explain = xen_explain,
};
