/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen.c: look into a Xen domain from dom0.
 *
 * One pause stops all vCPUs of the domain; those that wait for an event (blocked) are
 * counted as idle, and if all do nothing is paused.  While it is paused the registers
 * of the others are read and their stacks copied; it goes on then, or with the release
 * of the last if a stack has to be unwound in its memory (xen/stacks.h).  Xen counts
 * pauses: one that its owner has paused stays paused.
 */
#include "backend/backend.h"
#include "backend/pacer.h"
#include "backend/watchdog.h"
#include "backend/xen/pages.h"
#include "backend/xen/stacks.h"
#include "base/clock.h"
#include "vmm/xen/domains.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define HOLD_LIMIT_MS 3000
#define REST_PART     8 /* of what a sample takes, with more than one CPU in dom0 */
/* Whether it has ended or been paused is asked so often while all its vCPUs run. */
#define CHECK_NS (10 * US_NS_PER_MS)

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
	bool precise;	   /* the sampler's timer slack is set */
	bool one_cpu;	   /* dom0 has no other */
	uint64_t check_ns; /* the domain is asked for when this is over */
	uint64_t mask;
	unsigned n_chosen;

	bool held;	    /* paused by us */
	bool resumed;	    /* it runs while the captures are brought ... */
	uint64_t share_ns;  /* ... each of which has this part of the pause */
	uint64_t stolen_ns; /* by the pause, of all vCPUs */
	uint64_t began_ns, asked_ns, told_ns;
	uint64_t rested_ns;	       /* no sample before */
	uint64_t ran_ns[US_MAX_VCPUS]; /* CPU time at the last sample */
	uint64_t known;		       /* bit n: seen[n] is of this sample */
	struct us_xen_vcpu seen[US_MAX_VCPUS];
	unsigned n_running; /* vCPUs that the pause took time from */
	unsigned n_live;    /* captures that need the domain held */
	unsigned n_read;    /* of these, read with the pause */
	bool one_by_one;    /* this Xen does not take two calls as one */
	unsigned n_out, at; /* captures of this sample; the next of them */
	struct out {
		uint16_t vcpu;
		uint8_t state, form;
		struct us_regs regs;
		struct us_stack_copy window;
	} out[US_MAX_VCPUS];
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
	b->n_out = b->at = 0;
	return b->broken;
}

/* A call may be the first to find that the domain has ended. */
static const char *gone_or(int code, const char *why)
{
	return code == -ESRCH ? "it is gone" : why;
}

/* In the watchdog's process: a handle is of no use to a child, so it takes its own. */
static void prepare_rescue(void *ctx)
{
	struct xen *b = ctx;
	if (b->calls->open(&b->handle, NULL) < 0)
		b->handle = NULL;
}

/* A pause that is still there is ours: nothing was paused when we came. */
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

/* A vCPU that cannot be read has its state alone. */
static void take_code(struct out *o, int code)
{
	if (code < 0)
		o->form = US_CAPTURE_NONE;
	if (code == -ENODATA)
		o->state = US_VCPU_OFF;
}

/* With the registers of the first that is live, in one call if there is such a one. */
static int pause_and_read(struct xen *b)
{
	struct out *o = &b->out[0];
	b->n_read = 0;
	if (!b->calls->pause_and_regs || b->one_by_one)
		return b->calls->pause(b->handle, b->domain.id);
	int code = 0, r = b->calls->pause_and_regs(b->handle, &b->domain, o->vcpu,
						   &o->regs, &code);
	if (r == -ENOSYS || r == -EPERM || r == -EACCES) { /* by a policy, perhaps */
		b->one_by_one = true;
		return b->calls->pause(b->handle, b->domain.id);
	}
	if (r == 0) {
		take_code(o, code);
		b->n_read = 1;
	}
	return r;
}

static int pause_domain(struct xen *b)
{
	b->asked_ns = us_now_ns();
	if (!us_watchdog_hold_since(b->watchdog, b->asked_ns))
		return failed(b, -ECONNRESET, "the watchdog had to resume the domain");
	int r = pause_and_read(b);
	if (r == 0) {
		b->held = true;
		return 0;
	}
	(void)!us_watchdog_release(b->watchdog);
	return failed(b, r, gone_or(r, "Xen does not pause the domain"));
}

/* Once for each pause: one more would undo another's. */
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
		failed(b, r, gone_or(r, "Xen does not let the domain go on"));
}

/* Has it ended? And does its owner hold it? */
static int check_domain(struct xen *b)
{
	int r = b->calls->domain(b->handle, b->domain.id, &b->domain);
	if (r == 0 && (b->domain.dying || b->domain.shut_down))
		return failed(b, -ESRCH,
			      b->domain.dying ? "it is being destroyed"
					      : "it has shut down or crashed");
	if (r < 0)
		return failed(b, r, gone_or(r, "Xen does not tell of it"));
	return 0;
}

/* What a vCPU did when the sample was due, by what Xen says of it. */
static uint8_t state_of(struct xen *b, unsigned vcpu, const struct us_xen_vcpu *v)
{
	bool ran = v->running || v->ran_ns != b->ran_ns[vcpu];
	b->ran_ns[vcpu] = v->ran_ns;
	if (!v->online || b->domain.paused)
		return US_VCPU_OFF;
	if (v->blocked)
		return US_VCPU_HALTED;
	/* Not running at this moment only because we do: it has had its turn. */
	return ran ? US_VCPU_GUEST : US_VCPU_READY;
}

static bool wants_regs(const struct xen *b, const struct us_xen_vcpu *v, uint8_t state)
{
	bool stands = state == US_VCPU_HALTED || state == US_VCPU_OFF;
	return v->online && (!stands || b->pacer.schedule.wake_halted);
}

/* What Xen says of the vCPUs.  true: all have run since the last sample. */
static bool ask_vcpus(struct xen *b)
{
	bool all_ran = true;
	b->known = 0;
	for (unsigned i = 0; i < b->base.n_vcpu; i++) {
		struct us_xen_vcpu *v = &b->seen[i];
		if (!(b->mask >> i & 1))
			continue;
		if (b->calls->vcpu(b->handle, b->domain.id, i, v) < 0) {
			all_ran = false;
			continue;
		}
		b->known |= 1ULL << i;
		all_ran &= v->running || v->ran_ns != b->ran_ns[i];
	}
	return all_ran;
}

/* Before the pause: the state of each vCPU, those that have to be looked at first. */
static void list_vcpus(struct xen *b)
{
	unsigned n_idle = 0;
	struct out idle[US_MAX_VCPUS];
	b->n_out = b->n_live = b->n_running = b->at = 0;
	for (unsigned i = 0; i < b->base.n_vcpu; i++) {
		const struct us_xen_vcpu *v = &b->seen[i];
		if (!(b->known >> i & 1))
			continue;
		uint8_t state = state_of(b, i, v);
		bool live = wants_regs(b, v, state);
		struct out *o = live ? &b->out[b->n_live++] : &idle[n_idle++];
		o->vcpu = (uint16_t)i;
		o->state = state;
		o->form = live ? US_CAPTURE_LIVE : US_CAPTURE_NONE;
		b->n_running += state == US_VCPU_GUEST;
	}
	memcpy(&b->out[b->n_live], idle, n_idle * sizeof(*idle));
	b->n_out = b->n_live + n_idle;
}

/* Registers of the rest of those that are live. */
static void read_vcpus(struct xen *b)
{
	for (unsigned i = b->n_read; i < b->n_live; i++) {
		struct out *o = &b->out[i];
		take_code(o, b->calls->regs(b->handle, &b->domain, o->vcpu, &o->regs));
	}
}

/* true: nothing more has to be read of the paused domain. */
static bool copy_stacks(struct xen *b)
{
	bool all = true;
	us_xen_stacks_new_sample(&b->stacks);
	for (unsigned i = 0; i < b->n_live; i++) {
		struct out *o = &b->out[i];
		if (o->form != US_CAPTURE_LIVE)
			continue;
		all &= us_xen_stacks_copy(&b->stacks, o->vcpu, &o->regs, &o->window);
		o->form = US_CAPTURE_WINDOW;
	}
	return all;
}

/* It goes on. */
static void resume(struct xen *b)
{
	bool held = b->held;
	unpause_domain(b);
	uint64_t stood_ns = held ? us_now_ns() - b->asked_ns : 0;
	b->stolen_ns = stood_ns * b->n_running / b->n_chosen;
	b->share_ns = b->n_live ? stood_ns / b->n_live : 0;
	b->resumed = true;
}

/* A vCPU that has run since the last sample is of a domain that goes on. */
static int ask_all(struct xen *b)
{
	if (ask_vcpus(b) && b->began_ns < b->check_ns)
		return 0;
	b->check_ns = b->began_ns + CHECK_NS;
	return check_domain(b);
}

static int look(struct xen *b)
{
	b->began_ns = us_now_ns();
	int r = ask_all(b);
	if (r < 0)
		return r;
	b->resumed = false;
	us_xen_pages_settle(&b->memory[0]->pages, b->began_ns);
	list_vcpus(b);
	us_mem_new_sample(&b->memory[0]->mem);
	b->asked_ns = b->began_ns;
	/* A domain that its owner has paused stands: no pause of ours is left behind
	 * there if we are killed. */
	if (b->n_live && !b->domain.paused)
		r = pause_domain(b);
	b->told_ns = b->asked_ns;
	if (r < 0)
		return r;
	read_vcpus(b);
	if (b->n_live && copy_stacks(b))
		resume(b);
	return 0;
}

/* All captures that have a stack are done; returns the time.  We run at real-time
 * priority: if dom0 has one CPU, what else it does, as to destroy this very domain,
 * gets as much of it as we do, and so does the domain if that is the only one there is.
 */
static uint64_t finish(struct xen *b)
{
	if (!b->resumed)
		resume(b);
	uint64_t now = us_now_ns();
	b->rested_ns = now + (now - b->began_ns) / (b->one_cpu ? 1 : REST_PART);
	us_pacer_done(&b->pacer, 0, now, b->stolen_ns);
	if (b->n_out < b->n_chosen)
		us_pacer_failed(&b->pacer, b->n_chosen - b->n_out);
	return now;
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
		uint64_t due_ns;
		us_pacer_next(&b->pacer, &due_ns);
		if (due_ns < b->rested_ns)
			due_ns = b->rested_ns;
		if (us_pacer_sleep(due_ns < deadline_ns ? due_ns : deadline_ns) ||
		    due_ns > deadline_ns)
			return 0;
		int r = look(b);
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
	c->regs = o->regs;
	c->window = o->window;
	c->cut = false;
	return 1;
}

/* The captures of one pause share its time: equally, or each gets what passed since the
 * one before it was released. */
static void xen_release(struct us_backend *base, struct us_capture *c)
{
	struct xen *b = (struct xen *)base;
	bool held = b->held, early = b->resumed && b->at < b->n_live;
	if (c->form == US_CAPTURE_WINDOW)
		us_xen_stacks_learn(&b->stacks, c->vcpu, &c->window);
	b->at++;
	uint64_t now = b->at == b->n_live ? finish(b) : us_now_ns();
	c->held_ns = early ? b->share_ns : held ? now - b->told_ns : 0;
	b->told_ns = now;
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
				      .limit_ms = HOLD_LIMIT_MS };
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
			       "it has %u vCPUs, and 1 to %d can be watched",
			       b->domain.n_vcpu, US_MAX_VCPUS);
	if (b->domain.kind == US_XEN_PV && b->calls->width(b->handle, id) != 64)
		return us_fail(e, -ENOTSUP, "its kernel is 32-bit PV");
	r = start_watchdog(b, e);
	for (int i = 0; r == 0 && i < 2; i++)
		r = open_memory(b, &b->memory[i], e);
	if (r == 0)
		r = us_xen_stacks_init(&b->stacks, &b->memory[0]->mem, b->domain.n_vcpu,
				       e);
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
	int r = us_pacer_init_whole(&b->pacer, s, base->n_vcpu, &b->mask, e);
	if (r < 0)
		return r;
	b->n_chosen = b->pacer.weight;
	b->n_out = b->at = 0;
	b->check_ns = 0;
	b->one_cpu = sysconf(_SC_NPROCESSORS_ONLN) < 2;
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
	.counts = xen_counts,
	.explain = xen_explain,
};
