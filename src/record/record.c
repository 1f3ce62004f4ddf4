/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record.c: see record.h. */
#include "record/record.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "record/account.h"
#include "record/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RING_BYTES (4U << 20)
#define WARM_UP_NS (300 * US_NS_PER_MS)
/* On a slow host, this many samples take longer.  The place of code at which stacks are
 * cut may show only when a vCPU is in that code: in one sample of fourteen, for a page
 * through which programs enter the kernel. */
#define WARM_UP_SAMPLES 100
#define WARM_UP_MOST_NS (1500 * US_NS_PER_MS)
#define CALM_SAMPLES	8
/* For a backend that copies stacks.  Ways to other stacks are learned from cut samples,
 * and few samples go there. */
#define COPIES_MOST_NS (600 * US_NS_PER_MS)
#define CALM_NS	       (50 * US_NS_PER_MS)
#define CALM_COPIES    100
/* A stop takes effect within this time, and sums are made at least this often. */
#define TICK_NS (100 * US_NS_PER_MS)

/* Set by a signal handler, so it cannot be anything but global. */
static atomic_bool stop;

void us_record_stop(void)
{
	atomic_store_explicit(&stop, true, memory_order_relaxed);
}

/* How the sampling came to its end. */
struct ending {
	enum us_record_end end;
	int code;	 /* of next(), if that ended it */
	struct us_err e; /* in words */
};

struct recorder {
	struct us_backend *backend;
	struct us_unwinder *unwinder;
	const struct us_record_opts *opts;
	uint64_t start_ns, stop_ns; /* 0: it has not begun */
	struct us_paging paging;
	struct us_capture capture;
	struct us_stack stack;
	/* Of guest and host, where both are known. */
	us_gva pc[US_MAX_FRAMES + US_MAX_HOST_FRAMES];
	uint8_t flags[US_MAX_FRAMES + US_MAX_HOST_FRAMES];
	struct us_account account;
	struct us_drain drain;
};

static uint64_t since_start(const struct recorder *r)
{
	uint64_t t = r->capture.t_ns;
	return t > r->start_ns ? t - r->start_ns : 0;
}

/* Add whose the user part of the stack is.  An outdated root is another process's. */
static void mark_space(struct us_stack *s, const struct us_regs *regs, us_gpa root)
{
	const struct us_space *space = &regs->space;
	if (!s->n || !(s->flags[s->n - 1] & US_PC_USER) ||
	    space->mode == US_PAGING_OFF || space->mode == US_PAGING_UNKNOWN ||
	    (regs->space_old && !root))
		return;
	unsigned at = s->n < US_MAX_FRAMES ? s->n++ : US_MAX_FRAMES - 1;
	s->pc[at] = root & US_ROOT_MASK;
	s->flags[at] = US_PC_SPACE;
}

/* Add why the vCPU had left the guest. */
static void mark_exit(struct us_stack *s, uint32_t exit)
{
	unsigned at = s->n < US_MAX_FRAMES ? s->n++ : US_MAX_FRAMES - 1;
	s->pc[at] = exit;
	s->flags[at] = US_PC_EXIT;
}

/* Add which thread the vCPU ran. */
static void mark_task(struct us_stack *s, uint64_t task)
{
	unsigned at = s->n < US_MAX_FRAMES ? s->n++ : US_MAX_FRAMES - 1;
	s->pc[at] = task;
	s->flags[at] = US_PC_TASK;
}

static struct us_live_sample live(struct recorder *r)
{
	return (struct us_live_sample){ .capture = &r->capture,
					.stack = &r->stack,
					.paging = &r->paging,
					.backend = r->backend,
					.t_ns = r->start_ns ? since_start(r) : 0,
					.warm_up = !r->start_ns };
}

/* Add whose the sample is, and the program's part of its stack. */
static void mark_owner(struct recorder *r)
{
	const struct us_regs *regs = &r->capture.regs;
	struct us_stack *s = &r->stack;
	us_gpa root = regs->space_old ? 0 : s->root ? s->root : regs->space.root;
	struct us_live_sample l = live(r);
	l.root = &root;
	uint64_t task = r->opts->task ? r->opts->task(r->opts->ctx, &l) : 0;
	mark_space(s, regs, root);
	if (task)
		mark_task(s, task);
}

/* If the callback finds where the guest's functions are, unwind the stack again. */
static void show_sample(struct recorder *r)
{
	struct us_capture *c = &r->capture;
	unsigned before = us_unwinder_changes(r->unwinder);
	const struct us_live_sample l = live(r);
	r->opts->sample(r->opts->ctx, &l);
	if (us_unwinder_changes(r->unwinder) != before)
		us_unwind(r->unwinder, &r->paging, &c->regs, &r->stack);
}

/* Called while the guest is held.  The stack, or NULL if there is none. */
static const struct us_stack *stack_of(struct recorder *r)
{
	struct us_capture *c = &r->capture;
	if (c->form == US_CAPTURE_STACK)
		return &c->stack;
	if (!us_capture_begin(c, &r->paging)) {
		r->stack.n = 0;
		r->stack.end = US_END_NONE;
		if (!c->exit)
			return NULL;
		mark_exit(&r->stack, c->exit);
		return &r->stack;
	}
	us_unwind(r->unwinder, &r->paging, &c->regs, &r->stack);
	if (r->opts->sample)
		show_sample(r);
	us_capture_judge(c, &r->stack);
	mark_owner(r);
	if (c->exit)
		mark_exit(&r->stack, c->exit);
	return &r->stack;
}

/* Append the host's frames to the guest's.  Returns how many there are in all. */
static size_t join_host(struct recorder *r, const struct us_stack *s)
{
	us_hva host[US_MAX_HOST_FRAMES];
	size_t n = s->n, n_host = r->opts->host(r->opts->ctx, r->capture.host, host);
	memcpy(r->pc, s->pc, n * sizeof(*s->pc));
	memcpy(r->flags, s->flags, n);
	memcpy(r->pc + n, host, n_host * sizeof(*host));
	memset(r->flags + n, US_PC_HOST, n_host);
	return n + n_host;
}

static bool push(struct recorder *r, const struct us_sample *s,
		 const struct us_stack *stack)
{
	if (!stack)
		return us_ring_push(r->drain.ring, s, NULL, NULL, 0);
	if (!r->capture.host || !r->opts->host)
		return us_ring_push(r->drain.ring, s, stack->pc, stack->flags,
				    stack->n);
	size_t n = join_host(r, stack);
	return us_ring_push(r->drain.ring, s, r->pc, r->flags, n);
}

/* Hot path.  Pushed only after the release: the guest does not wait for it. */
static void take(struct recorder *r)
{
	struct us_capture *c = &r->capture;
	const struct us_stack *stack = stack_of(r);
	r->backend->ops->release(r->backend, c);
	const struct us_sample s = {
		.t_ns = since_start(r),
		.vcpu = c->vcpu,
		.end = stack ? stack->end : US_END_NONE,
		.state = c->state,
		.weight = c->weight,
	};
	bool written = push(r, &s, stack);
	us_account_add(&r->account, &s, c->held_ns, written);
}

static void sum(const struct recorder *r, uint64_t now, struct us_record_stats *ret)
{
	struct us_backend_counts counts = { 0 };
	r->backend->ops->counts(r->backend, &counts);
	us_account_sum(&r->account, &counts, now > r->start_ns ? now - r->start_ns : 0,
		       ret);
}

static enum us_record_end end_of(int code)
{
	return code == -ESRCH ? US_RECORD_GUEST_GONE : US_RECORD_LOST_TOUCH;
}

static void explain(const struct recorder *r, int code, struct ending *ret)
{
	*ret = (struct ending){ .end = end_of(code), .code = code };
	us_fail(&ret->e, code, "sample the guest: %s", strerror(-code));
	if (r->backend->ops->explain)
		r->backend->ops->explain(r->backend, code, &ret->e);
	ret->e.code = code;
}

static bool is_stopped(const struct recorder *r)
{
	const atomic_bool *other = r->opts->stop;
	return atomic_load_explicit(&stop, memory_order_relaxed) ||
	       (other && atomic_load_explicit(other, memory_order_relaxed));
}

static bool is_over(struct recorder *r, uint64_t now, struct ending *ret)
{
	if (is_stopped(r)) {
		*ret = (struct ending){ .end = US_RECORD_INTERRUPTED };
		us_fail(&ret->e, 0, "stopped by the user");
		return true;
	}
	if (now >= r->stop_ns) {
		*ret = (struct ending){ .end = US_RECORD_DONE };
		us_fail(&ret->e, 0, "the duration was over");
		return true;
	}
	return us_drain_failed(&r->drain);
}

/* The time comes from the captures, and from the clock whenever there was none. */
static void run(struct recorder *r, struct ending *ret)
{
	struct us_record_stats s;
	uint64_t pause = r->opts->schedule.pause_ns;
	uint64_t every = pause > TICK_NS ? pause : TICK_NS;
	uint64_t now = us_now_ns(), tick = now + every;
	while (!is_over(r, now, ret)) {
		if (now >= tick) {
			sum(r, now, &s);
			/* If the ring is full, the next sums include these. */
			us_ring_push_stats(r->drain.ring, &s);
			tick = now + every;
		}
		uint64_t deadline = tick < r->stop_ns ? tick : r->stop_ns;
		int got = r->backend->ops->next(r->backend, deadline, &r->capture);
		if (got > 0) {
			take(r);
			now = r->capture.t_ns;
		} else if (got == 0 || got == -EINTR || got == -EAGAIN) {
			now = us_now_ns();
		} else {
			explain(r, got, ret);
			return;
		}
	}
}

static int prepare(struct recorder *r, struct us_writer *w, struct us_err *e)
{
	const struct us_record_opts *o = r->opts;
	us_paging_init(&r->paging, r->backend->mem);
	r->drain.writer = w;
	r->drain.progress = o->progress;
	r->drain.finish_by = o->finish;
	r->drain.ctx = o->ctx;
	r->drain.pause_ns = o->schedule.pause_ns;
	r->drain.ring = us_ring_new(o->ring_bytes ? o->ring_bytes : RING_BYTES);
	if (!r->drain.ring)
		return us_fail(e, -ENOMEM, "begin to record: out of memory");
	return us_drain_start(&r->drain, e);
}

/* What warm-up has seen. */
struct warm_up {
	uint64_t end_ns, most_ns; /* when it ends; if samples are few, and stacks */
	uint64_t calm_ns;	  /* until then, a stack was cut not long ago */
	unsigned samples, whole;  /* whole: in a row, or without a stack */
	bool copies, has_stack, thorough;
};

/* False: the stack is whole, or there is none, so there is nothing to learn. */
static bool learns(struct recorder *r, struct warm_up *w)
{
	struct us_capture *c = &r->capture;
	if (!us_capture_begin(c, &r->paging))
		return false;
	w->has_stack = true;
	us_unwind(r->unwinder, &r->paging, &c->regs, &r->stack);
	if (r->opts->warm_up && r->opts->sample)
		show_sample(r);
	us_capture_judge(c, &r->stack);
	mark_owner(r);
	return c->cut || (r->opts->warm_up && r->stack.end != US_END_ROOT);
}

static void warm_up_with(struct recorder *r, struct warm_up *w, uint64_t now)
{
	w->samples++;
	w->whole++;
	if (learns(r, w)) {
		w->calm_ns = now + CALM_NS;
		w->whole = 0;
	}
}

static bool is_warm(const struct warm_up *w, uint64_t now)
{
	if (!w->copies)
		return w->whole >= CALM_SAMPLES ||
		       (now >= w->end_ns &&
			(!w->samples || w->samples >= WARM_UP_SAMPLES));
	return now >= w->calm_ns &&
	       (!w->thorough || w->whole >= CALM_COPIES || !w->has_stack);
}

/* Before the recording begins.  A backend that copies stacks learns from cut ones how
 * much to copy, and from where, until none has been cut for a while.  A backend that
 * stops the guest ends as soon as a few stacks in a row were whole. */
static void warm_up(struct recorder *r)
{
	struct us_backend *b = r->backend;
	uint64_t now = us_now_ns();
	struct warm_up w = { .copies = b->caps & US_CAP_NO_STOP,
			     .thorough = r->opts->warm_up };
	w.end_ns = now + WARM_UP_NS;
	w.calm_ns = now + CALM_NS;
	w.most_ns = now + (!w.copies	? WARM_UP_MOST_NS
			   : w.thorough ? COPIES_MOST_NS
					: WARM_UP_NS);
	if ((!w.copies && !r->opts->warm_up) || b->caps & US_CAP_FUNCTIONS ||
	    b->ops->start(b, &r->opts->schedule, NULL))
		return;
	while (now < w.most_ns && !is_warm(&w, now) && !is_stopped(r)) {
		uint64_t until = now < w.calm_ns  ? w.calm_ns
				 : now < w.end_ns ? w.end_ns
						  : w.most_ns;
		int got = b->ops->next(b, until, &r->capture);
		now = us_now_ns();
		if (got < 0)
			return;
		if (!got)
			continue;
		warm_up_with(r, &w, now);
		b->ops->release(b, &r->capture);
		if (r->opts->search && r->opts->warm_up)
			r->opts->search(r->opts->ctx);
	}
	us_backend_let_go(b);
}

static void sample(struct recorder *r, struct ending *ret)
{
	struct us_backend *b = r->backend;
	warm_up(r);
	r->start_ns = us_now_ns();
	uint64_t duration = r->opts->duration_ns;
	bool bounded = duration && duration < UINT64_MAX - r->start_ns;
	r->stop_ns = bounded ? r->start_ns + duration : UINT64_MAX;
	int code = b->ops->start(b, &r->opts->schedule, &ret->e);
	if (code) {
		ret->end = end_of(code);
		ret->code = code;
		return;
	}
	run(r, ret);
	us_backend_let_go(b); /* what follows takes its time */
}

/* After the last next(). */
static void last_sum(const struct recorder *r, struct us_record_stats *ret)
{
	struct us_backend_counts counts = { 0 };
	sum(r, us_now_ns(), ret);
	r->backend->ops->counts(r->backend, &counts);
	us_account_close(ret, &counts, r->backend->n_vcpu);
}

static bool is_failure(const struct ending *end, const struct us_record_stats *s)
{
	bool gone = end->code == -ESRCH || end->code == -ECONNRESET;
	return end->code && !gone && !(s->running + s->idle + s->off);
}

int us_record(struct us_backend *b, struct us_unwinder *u, struct us_writer *w,
	      const struct us_record_opts *o, struct us_record_stats *ret_stats,
	      enum us_record_end *ret_end, struct us_err *e)
{
	struct ending ending = { .end = US_RECORD_CUT };
	*ret_stats = (struct us_record_stats){ 0 };
	*ret_end = US_RECORD_CUT;
	_cleanup_free_ struct recorder *r = calloc(1, sizeof(*r));
	if (!r)
		return us_fail(e, -ENOMEM, "begin to record: out of memory");
	r->backend = b;
	r->unwinder = u;
	r->opts = o;
	int code = prepare(r, w, e);
	if (!code) {
		sample(r, &ending);
		last_sum(r, ret_stats);
		code = us_drain_finish(&r->drain, ret_stats, ending.end, ending.e.msg,
				       e);
		if (!code)
			*ret_end = ending.end;
	}
	us_ring_free(r->drain.ring);
	atomic_store_explicit(&stop, false, memory_order_relaxed);
	if (code)
		return code;
	if (ending.code && e)
		*e = ending.e;
	return is_failure(&ending, ret_stats) ? ending.code : 0;
}
