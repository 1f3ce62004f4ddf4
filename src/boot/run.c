/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.c: see run.h. */
#include "boot/booting.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define POLL_MS	  1
#define QUIET_NS  (100 * US_NS_PER_MS) /* of helpers, once the VMM has ended */
#define MISSED_NS (3 * US_NS_PER_SEC)
#define ENDING_NS (10 * US_NS_PER_SEC) /* from closing the stub to the VMM's end */

/* ---- What QEMU traces ---- */

/* At least half of the code must be the image's: a loader runs where the kernel will
 * be.  As with the plugin, half of a short one is enough. */
static bool is_expected(const struct us_boot_point *p, size_t k,
			const struct us_boot_block *block)
{
	size_t unequal = 0;
	for (size_t i = 0; p->has_expected[k] && i < block->n; i++)
		unequal += block->code[i] != p->expected[k][i];
	return unequal <= block->n / 2;
}

/* A block's first execution is logged; later ones change nothing. */
static void pass_block(void *ctx, const struct us_boot_block *block)
{
	struct us_booting *b = ctx;
	uint64_t pc = block->pc;
	uint64_t now = us_now_ns();
	if (pc == US_BOOT_RESET_X86)
		us_booting_pass_now(b, US_BOOT_START, now, US_BOOT_BY_LOG);
	for (size_t i = 0; i < b->plan->n; i++) {
		const struct us_boot_point *p = &b->plan->point[i];
		for (size_t k = 0; k < p->n_address; k++)
			if (p->address[k] == pc && is_expected(p, k, block))
				us_booting_pass_point(b, i, now, US_BOOT_BY_LOG);
	}
}

/* KVM's events show more: devices other than virtio, too. */
static void hear_trace(struct us_booting *b)
{
	uint64_t at;
	if (us_boot_trace_hear(&b->trace, &at) && !b->how->events)
		us_booting_pass_now(b, US_BOOT_DEVICE, at, US_BOOT_BY_TRACE);
}

/* ---- What the host's KVM shows ---- */

/* When the last observable function was entered; UINT64_MAX: not yet. */
static uint64_t functions_ns(const struct us_booting *b)
{
	uint64_t latest = 0;
	for (size_t i = 0; i < b->plan->n; i++) {
		const struct us_boot_point *p = &b->plan->point[i];
		const struct us_boot_moment *m = &b->run->at[i];
		if (p->kind != US_BOOT_SYMBOL || !us_boot_is_seen(p, b->how->ways))
			continue;
		if (!m->seen)
			return UINT64_MAX;
		if (m->wall_ns > latest)
			latest = m->wall_ns;
	}
	return latest;
}

/* The first halt after it, without the time for which the guest was stopped. */
static void read_halts(struct us_booting *b, volatile struct us_boot_seen *s)
{
	uint64_t after = functions_ns(b), n = s->n_halt, best = UINT64_MAX;
	if (!after && s->kernel_ns > b->start_ns)
		after = s->kernel_ns - b->start_ns -
			us_booting_stood_until(b, s->kernel_ns);
	for (uint64_t i = 0; i < n && i < US_BOOT_HALTS; i++) {
		uint64_t at = s->halt_ns[i];
		if (at < best && at >= b->start_ns &&
		    at - b->start_ns - us_booting_stood_until(b, at) >= after)
			best = at;
	}
	if (best != UINT64_MAX)
		us_booting_pass_now(b, US_BOOT_IDLE, best, US_BOOT_BY_EVENTS);
}

static void read_events(struct us_booting *b)
{
	volatile struct us_boot_seen *s = NULL;
	if (b->how->events)
		s = us_boot_events_seen(b->how->events);
	if (!s)
		return;
	bool real = us_boot_events_has_exits(b->how->events);
	const struct {
		enum us_boot_kind kind;
		uint64_t at_ns;
	} seen[] = { { US_BOOT_VM, s->vm_ns },
		     { US_BOOT_VCPU, s->vcpu_ns },
		     { US_BOOT_START, real ? s->entry_ns : s->run_ns },
		     { US_BOOT_PORT, s->port_ns },
		     { US_BOOT_DEVICE, s->device_ns } };
	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++)
		if (seen[i].at_ns)
			us_booting_pass_now(b, seen[i].kind, seen[i].at_ns,
					    US_BOOT_BY_EVENTS);
	read_halts(b, s);
}

/* ---- What samples show ---- */

static int begin_sampler(struct us_booting *b, struct us_err *e)
{
	int r = b->how->sampler->begin(b->how->sampler->ctx, us_launch_pid(b->launch),
				       e);
	if (r == -EAGAIN) {
		usleep(1000);
		return 0;
	}
	b->sampling = r == 0;
	return r;
}

/* Nothing of the guest ran before its first instruction, or before the launch. */
static uint64_t cut_error(const struct us_booting *b, const struct us_boot_moment *m)
{
	size_t start = us_boot_point_of(b->plan, US_BOOT_START);
	uint64_t from = b->start_ns;
	if (start != SIZE_MAX && b->run->at[start].seen)
		from = b->run->at[start].clock_ns;
	uint64_t most = m->wall_ns > from ? m->wall_ns - from : 0;
	return m->error_ns < most ? m->error_ns : most;
}

static int read_samples(struct us_booting *b, struct us_err *e)
{
	const struct us_boot_sampler *s = b->how->sampler;
	if (!b->sampling)
		return 0;
	for (size_t i = 0; i < b->plan->n; i++) {
		struct us_boot_moment m = { .cpu_ns = us_booting_cpu_now(b),
					    .way = US_BOOT_BY_SAMPLES };
		enum us_boot_kind kind = b->plan->point[i].kind;
		if ((kind == US_BOOT_ENTRY || kind == US_BOOT_SYMBOL) &&
		    !b->run->at[i].seen && s->saw(s->ctx, i, &m)) {
			m.error_ns = cut_error(b, &m);
			us_booting_pass(b, i, &m);
		}
	}
	return s->check(s->ctx, &b->run->n_sample, e);
}

/* ---- What breakpoints show ---- */

static bool is_late(const struct us_booting *b)
{
	return us_now_ns() - b->start_ns >= b->how->timeout_ns;
}

/* The guest stands still until then: it is not to miss anything.  false: it is no use
 * to wait for the sampler any more; the caller finds out why. */
static bool wait_for_sampler(struct us_booting *b, int *ret, struct us_err *e)
{
	while (*ret == 0 && !b->sampling && b->how->sampler) {
		*ret = begin_sampler(b, e);
		if (*ret == 0 && !b->sampling &&
		    (us_launch_ended(b->launch, NULL) || b->how->stopped() ||
		     is_late(b)))
			return false;
	}
	return true;
}

static int connect_stub(struct us_booting *b, struct us_err *e)
{
	int r = us_boot_breakpoints_open(b->how->stub, &b->stub, e);
	if (r < 0)
		return r == -EAGAIN ? 0 : r;
	if (b->how->ways & US_BOOT_BY_BREAKPOINTS)
		r = us_boot_breakpoints_set(b->stub, b->plan, e);
	if (!wait_for_sampler(b, &r, e))
		return 0;
	if (r == 0)
		r = us_boot_breakpoints_go(b->stub, e);
	if (r < 0)
		return r;
	uint64_t ready = us_boot_breakpoints_ready_ns(b->stub);
	uint64_t go = us_boot_breakpoints_start_ns(b->stub);
	us_booting_hold(b, ready, go);
	if (b->how->events) /* these are more exact */
		return 0;
	us_booting_pass_now(b, US_BOOT_VCPU, ready, US_BOOT_BY_BREAKPOINTS);
	us_booting_pass_now(b, US_BOOT_START, go, US_BOOT_BY_BREAKPOINTS);
	return 0;
}

static int hear_stub(struct us_booting *b, struct us_err *e)
{
	struct us_boot_hit hit;
	int r = us_boot_breakpoints_hear(b->stub, &hit, e);
	if (r <= 0)
		return r;
	if (hit.point < b->plan->n)
		us_booting_pass_point(b, hit.point, hit.at_ns, US_BOOT_BY_BREAKPOINTS);
	us_booting_hold(b, hit.at_ns, hit.go_ns);
	return 0;
}

/* ---- One boot ---- */

/* A function that returned before the next sample will not be seen any more. */
static bool is_missed(const struct us_booting *b)
{
	size_t entry = us_boot_point_of(b->plan, US_BOOT_ENTRY);
	return b->sampling && !b->plan->asked && entry != SIZE_MAX &&
	       b->run->at[entry].seen &&
	       us_now_ns() - b->start_ns > b->run->at[entry].wall_ns + MISSED_NS;
}

static bool has_passed(const struct us_booting *b, bool wanted_alone)
{
	for (size_t i = 0; i < b->plan->n; i++)
		if (!b->run->at[i].seen && (b->plan->point[i].wanted || !wanted_alone))
			return false;
	return true;
}

static bool is_over(struct us_booting *b)
{
	uint64_t now = us_now_ns();
	if (!b->done_ns && (has_passed(b, true) || is_missed(b)))
		b->done_ns = now;
	b->run->whole = b->done_ns != 0;
	if (b->run->whole &&
	    (has_passed(b, false) || now - b->done_ns >= b->how->linger_ns))
		return true;
	return is_late(b);
}

/* Those who are told may stop the guest, and a vCPU that is stopped looks idle: nothing
 * that comes later is part of the boot. */
static void tell_over(const struct us_booting *b)
{
	size_t device = us_boot_point_of(b->plan, US_BOOT_DEVICE);
	b->run->end_clock_ns = us_now_ns();
	if (b->sampling)
		b->how->sampler->end(b->how->sampler->ctx);
	if (!b->run->whole && b->how->late)
		b->how->late(b->how->late_ctx, us_launch_pid(b->launch));
	if (b->how->done && b->run->whole && device != SIZE_MAX &&
	    b->run->at[device].way == US_BOOT_BY_TRACE)
		b->how->done(b->how->done_ctx);
}

/* Once all that it wrote before is read: the state was known before this was polled. */
static bool is_stuck(struct us_booting *b, const char *state, const struct pollfd *p,
		     size_t n)
{
	for (size_t i = 0; state && i < n; i++)
		if (p[i].revents & POLLIN)
			return false;
	if (state && !b->run->whole)
		b->run->stuck = state;
	return b->run->stuck != NULL;
}

/* The VMM's last output is read before the run ends; but helpers that it has started,
 * such as swtpm or virtiofsd, may hold its output and be silent. */
static bool has_ended(struct us_booting *b, bool heard)
{
	if (!us_launch_ended(b->launch, &b->run->status))
		return false;
	uint64_t now = us_now_ns();
	if (heard || !b->quiet_ns)
		b->quiet_ns = now;
	return b->out < 0 || now - b->quiet_ns >= QUIET_NS;
}

/* Is the VMM's end the reason for this failure?  It closes its stub some time before it
 * ends. */
static bool is_of_end(struct us_booting *b, int failed)
{
	if (us_launch_ended(b->launch, NULL))
		return true;
	if (failed != -ECONNRESET)
		return false;
	if (!b->lost_ns)
		b->lost_ns = us_now_ns();
	return us_now_ns() - b->lost_ns < ENDING_NS;
}

static int look(struct us_booting *b, bool heard_stub, struct us_err *e)
{
	int r = 0;
	if (b->how->stub && !b->stub)
		r = connect_stub(b, e);
	else if (heard_stub || (b->stub && b->lost_ns))
		r = hear_stub(b, e);
	else if (b->how->sampler && !b->how->stub && !b->sampling)
		r = begin_sampler(b, e);
	if (r == 0)
		r = read_samples(b, e);
	if (r == 0 && b->how->check)
		r = b->how->check(b->how->passed_ctx, e);
	return r;
}

static int wait_for_end(struct us_booting *b, struct us_err *e)
{
	for (;;) {
		bool has_stub = b->stub && !b->lost_ns;
		int stub = has_stub ? us_boot_breakpoints_fd(b->stub) : -1;
		struct pollfd p[] = { { .fd = b->out, .events = POLLIN },
				      { .fd = b->error, .events = POLLIN },
				      { .fd = stub, .events = POLLIN },
				      { .fd = b->trace.fd, .events = POLLIN } };
		const char *state = us_boot_stuck_state(b->stuck);
		(void)poll(p, 4, POLL_MS);
		if (p[3].revents)
			hear_trace(b);
		int r = look(b, p[2].revents, e);
		if (r < 0 && !is_of_end(b, r))
			return r;
		if (p[0].revents)
			us_booting_hear(b);
		if (p[1].revents)
			us_booting_hear_complaints(b);
		us_booting_watch_read(b);
		read_events(b);
		if (is_over(b) || is_stuck(b, state, p, 4)) {
			tell_over(b);
			return 0;
		}
		if (b->how->stopped())
			return us_fail(e, -EINTR, "stopped");
		if (has_ended(b, p[0].revents)) {
			b->run->ended = !b->run->whole;
			b->run->held = b->out >= 0;
			return 0;
		}
	}
}

static int start(struct us_booting *b, struct us_err *e)
{
	_cleanup_close_ int out = -1, error = -1;
	int both[2];
	if (pipe2(both, O_CLOEXEC) < 0)
		return us_fail(e, -errno, "make a pipe: %s", strerror(errno));
	b->out = both[0];
	out = both[1];
	if (pipe2(both, O_CLOEXEC) < 0)
		return us_fail(e, -errno, "make a pipe: %s", strerror(errno));
	b->error = both[0];
	error = both[1];
	int r = us_launch_start_to(b->how->argv, out, error, &b->launch, e);
	if (r < 0)
		return r;
	b->start_ns = us_launch_exec_ns(b->launch);
	if (b->how->monitor)
		b->stuck = us_boot_stuck_open(b->how->monitor);
	if (clock_getcpuclockid(us_launch_pid(b->launch), &b->cpu))
		b->cpu = CLOCK_MONOTONIC; /* it has ended */
	us_booting_pass(b, 0, &(struct us_boot_moment){ .wall_ns = b->start_ns });
	return 0;
}

static int begin_events(struct us_booting *b, struct us_err *e)
{
	return b->how->events ? us_boot_events_begin(b->how->events, &b->how->code, e)
			      : 0;
}

int us_boot_run(const struct us_boot_plan *p, const struct us_boot_how *how,
		struct us_boot_run *ret, struct us_err *e)
{
	struct us_booting b = {
		.plan = p,
		.how = how,
		.run = ret,
		.out = -1,
		.error = -1,
		.trace = { .fd = -1 },
	};
	memset(ret, 0, sizeof(*ret));
	int r = us_booting_watch_open(&b, e);
	if (r == 0 && how->trace)
		r = us_boot_trace_open(&b.trace, how->trace, e);
	if (how->ways & US_BOOT_BY_LOG) {
		b.trace.executed = pass_block;
		b.trace.ctx = &b;
	}
	if (r == 0)
		r = begin_events(&b, e);
	if (r == 0)
		r = start(&b, e);
	if (r == 0)
		r = wait_for_end(&b, e);
	if (!ret->end_clock_ns)
		ret->end_clock_ns = us_now_ns();
	if (b.start_ns)
		ret->end_ns = ret->end_clock_ns - b.start_ns -
			      us_booting_stood_until(&b, ret->end_clock_ns);
	if (b.sampling)
		how->sampler->end(how->sampler->ctx);
	us_launch_close(b.launch);
	us_boot_stuck_close(b.stuck);
	us_boot_breakpoints_close(b.stub);
	us_boot_trace_close(&b.trace);
	us_booting_watch_close(&b);
	read_events(&b);
	if (how->events) {
		us_boot_exits_read(how->events, &ret->exits);
		us_boot_events_end(how->events);
	}
	if (b.out >= 0)
		close(b.out);
	if (b.error >= 0)
		close(b.error);
	return r;
}
