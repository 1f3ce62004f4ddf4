/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.c: see run.h. */
#include "boot/run.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "boot/breakpoints.h"
#include "boot/device_trace.h"
#include "vmm/launch.h"
#include "vmm/plugin_boot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define POLL_MS	  1
#define QUIET_NS  (100 * US_NS_PER_MS) /* of helpers, once the VMM has ended */
#define LINE	  512		       /* bytes of a line that are matched */
#define MAX_HOLDS 32
#define MISSED_NS (3 * US_NS_PER_SEC)
#define PAGE	  4096

struct booting {
	const struct us_boot_plan *plan;
	const struct us_boot_how *how;
	struct us_boot_run *run;
	struct us_launch *launch;
	struct us_boot_file *file; /* NULL: there is no plugin */
	unsigned n_watch;
	uint32_t n_called;		  /* that were reported */
	struct us_boot_breakpoints *stub; /* NULL: none, or not yet */
	struct us_boot_trace trace;
	bool sampling; /* the sampler has begun */
	/* When, and for how long, we stopped the guest. */
	struct {
		uint64_t at_ns, ns;
	} hold[MAX_HOLDS];
	size_t n_hold;
	uint64_t start_ns;
	uint64_t done_ns;  /* when all wanted points were passed; 0: not yet */
	uint64_t quiet_ns; /* when the VMM had ended, or its output's last byte came */
	int out, error;	   /* the VMM's output; -1: it has ended */
	clockid_t cpu;	   /* the CPU time of its process */
	char line[LINE];
	size_t line_n;
};

static void hold(struct booting *b, uint64_t from_ns, uint64_t to_ns)
{
	if (b->n_hold == MAX_HOLDS)
		return;
	b->hold[b->n_hold].at_ns = from_ns;
	b->hold[b->n_hold++].ns = to_ns - from_ns;
}

/* For how long, until then, we had stopped the guest. */
static uint64_t stood_until(const struct booting *b, uint64_t t_ns)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < b->n_hold; i++) {
		uint64_t at = b->hold[i].at_ns;
		if (at < t_ns)
			sum += t_ns - at < b->hold[i].ns ? t_ns - at : b->hold[i].ns;
	}
	return sum;
}

/* So that exits are counted for the right phase. */
static void tell_phase(struct booting *b, enum us_boot_kind kind)
{
	volatile struct us_boot_seen *s = NULL;
	if (b->how->events)
		s = us_boot_events_seen(b->how->events);
	if (s && (kind == US_BOOT_ENTRY || kind == US_BOOT_SYMBOL))
		s->phase = US_EXITS_KERNEL;
	else if (s && kind == US_BOOT_SECTOR && s->phase < US_EXITS_LOADER)
		s->phase = US_EXITS_LOADER;
}

static void pass(struct booting *b, size_t point, const struct us_boot_moment *m)
{
	uint64_t wall = m->wall_ns;
	uint64_t end = b->run->end_clock_ns;
	/* SIZE_MAX: not in this plan.  A vCPU that is being ended is idle, too. */
	if (point >= b->plan->n || wall < b->start_ns || (end && wall > end))
		return;
	struct us_boot_moment *to = &b->run->at[point];
	if (to->seen)
		return;
	*to = *m;
	to->seen = true;
	to->wall_ns = wall - b->start_ns - stood_until(b, wall);
	to->clock_ns = wall;
	if (b->file && m->way == US_BOOT_BY_OUTPUT)
		__atomic_store_n(&b->file->point, (uint32_t)point, __ATOMIC_RELAXED);
	if (b->how->passed)
		b->how->passed(b->how->passed_ctx, point);
	tell_phase(b, b->plan->point[point].kind);
}

static uint64_t cpu_now(const struct booting *b)
{
	struct timespec t;
	if (clock_gettime(b->cpu, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * US_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

/* The CPU time is the one when we learn that the point was passed. */
static void pass_point(struct booting *b, size_t point, uint64_t wall_ns,
		       enum us_boot_way way)
{
	if (point < b->plan->n && !b->run->at[point].seen)
		pass(b, point,
		     &(struct us_boot_moment){
			     .wall_ns = wall_ns, .cpu_ns = cpu_now(b), .way = way });
}

static void pass_now(struct booting *b, enum us_boot_kind kind, uint64_t wall_ns,
		     enum us_boot_way way)
{
	pass_point(b, us_boot_point_of(b->plan, kind), wall_ns, way);
}

/* ---- What the plugin observes ---- */

static struct us_boot_watch *watch(struct booting *b, size_t point,
				   enum us_watch_event event, uint64_t address,
				   uint32_t after)
{
	static struct us_boot_watch none;
	if (b->n_watch == US_MAX_WATCH)
		return &none;
	struct us_boot_watch *w = &b->file->watch[b->n_watch++];
	*w = (struct us_boot_watch){ .address = address,
				     .event = event,
				     .point = (uint32_t)point,
				     .after = after };
	return w;
}

static void watch_code(struct booting *b, size_t point, uint64_t address,
		       uint32_t period, uint32_t unequal)
{
	struct us_boot_watch *w = watch(b, point, US_WATCH_INSN, address,
					US_WATCH_AT_ONCE);
	w->period = period;
	w->unequal = unequal;
	memcpy(w->code, b->plan->point[point].code, sizeof(w->code));
}

static void watch_exactly(struct booting *b, size_t point, size_t k)
{
	const struct us_boot_point *p = &b->plan->point[point];
	struct us_boot_watch *w = watch(b, point, US_WATCH_INSN, p->address[k],
					US_WATCH_AT_ONCE);
	w->exact = p->has_expected[k];
	w->unequal = US_WATCH_CODE / 2;
	memcpy(w->code, p->expected[k], sizeof(w->code));
}

static void watch_addresses(struct booting *b, size_t point)
{
	const struct us_boot_point *p = &b->plan->point[point];
	for (size_t k = 0; k < p->n_address; k++)
		if (p->period)
			watch_code(b, point, p->address[k], p->period,
				   US_WATCH_CODE / 2);
		else
			watch_exactly(b, point, k);
	if (p->anywhere && p->n_address)
		watch_code(b, point, p->address[0], PAGE, 0);
}

/* A guest counts as idle only after its last function was entered: firmware waits, too.
 */
static void fill_file(struct booting *b)
{
	uint32_t after = US_WATCH_AT_ONCE;
	for (size_t i = 0; i < b->plan->n; i++) {
		const struct us_boot_point *p = &b->plan->point[i];
		if (p->kind == US_BOOT_START)
			watch(b, i, US_WATCH_START, 0, US_WATCH_AT_ONCE);
		if (p->kind == US_BOOT_IDLE)
			watch(b, i, US_WATCH_IDLE, 0, after);
		if (p->kind == US_BOOT_START || p->kind == US_BOOT_ENTRY ||
		    p->kind == US_BOOT_SYMBOL)
			after = (uint32_t)i;
		watch_addresses(b, i);
	}
	b->file->n_watch = b->n_watch;
	b->file->follow = b->how->called
				  ? (uint32_t)us_boot_point_of(b->plan, US_BOOT_ENTRY)
				  : US_WATCH_AT_ONCE;
	memcpy(b->file->magic, US_BOOT_MAGIC, sizeof(b->file->magic));
}

static int make_file(struct booting *b, struct us_err *e)
{
	const char *path = b->how->file;
	if (!path)
		return 0;
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
				      0600);
	int code = fd < 0 ? errno : posix_fallocate(fd, 0, sizeof(*b->file));
	void *p = code ? MAP_FAILED
		       : mmap(NULL, sizeof(*b->file), PROT_READ | PROT_WRITE,
			      MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return us_fail(e, -(code ? code : errno), "make %s: %s", path,
			       strerror(code ? code : errno));
	b->file = p;
	fill_file(b);
	return 0;
}

static void read_called(struct booting *b)
{
	const struct us_boot_how *how = b->how;
	uint32_t n = __atomic_load_n(&b->file->n_called, __ATOMIC_ACQUIRE);
	while (how->called && b->n_called < n && b->n_called < US_MAX_CALLED) {
		const struct us_boot_called *c = &b->file->called[b->n_called++];
		if (how->called(how->called_ctx, c->to, c->jump))
			pass_now(b, US_BOOT_SYMBOL, us_now_ns(), US_BOOT_BY_PLUGIN);
	}
}

static void read_file(struct booting *b)
{
	struct us_boot_file *f = b->file;
	if (!f)
		return;
	uint64_t made = __atomic_load_n(&f->made_ns, __ATOMIC_ACQUIRE);
	b->run->n_start = __atomic_load_n(&f->n_start, __ATOMIC_RELAXED);
	if (made)
		pass(b, us_boot_point_of(b->plan, US_BOOT_VCPU),
		     &(struct us_boot_moment){ .wall_ns = made,
					       .cpu_ns = f->made_cpu,
					       .way = US_BOOT_BY_PLUGIN });
	for (unsigned i = 0; i < b->n_watch; i++) {
		const struct us_boot_watch *w = &f->watch[i];
		uint64_t wall = __atomic_load_n(&w->wall_ns, __ATOMIC_ACQUIRE);
		if (wall && w->point < b->plan->n)
			pass(b, w->point,
			     &(struct us_boot_moment){ .wall_ns = wall,
						       .cpu_ns = w->cpu_ns,
						       .insns = w->insns,
						       .way = US_BOOT_BY_PLUGIN });
	}
	read_called(b);
}

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
	struct booting *b = ctx;
	uint64_t pc = block->pc;
	uint64_t now = us_now_ns();
	if (pc == US_BOOT_RESET_X86)
		pass_now(b, US_BOOT_START, now, US_BOOT_BY_LOG);
	for (size_t i = 0; i < b->plan->n; i++) {
		const struct us_boot_point *p = &b->plan->point[i];
		for (size_t k = 0; k < p->n_address; k++)
			if (p->address[k] == pc && is_expected(p, k, block))
				pass_point(b, i, now, US_BOOT_BY_LOG);
	}
}

/* KVM's events show more: devices other than virtio, too. */
static void hear_trace(struct booting *b)
{
	uint64_t at;
	if (us_boot_trace_hear(&b->trace, &at) && !b->how->events)
		pass_now(b, US_BOOT_DEVICE, at, US_BOOT_BY_TRACE);
}

/* ---- What the host's KVM shows ---- */

/* When the last observable function was entered; UINT64_MAX: not yet. */
static uint64_t functions_ns(const struct booting *b)
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
static void read_halts(struct booting *b, volatile struct us_boot_seen *s)
{
	uint64_t after = functions_ns(b), n = s->n_halt, best = UINT64_MAX;
	if (!after && s->kernel_ns > b->start_ns)
		after = s->kernel_ns - b->start_ns - stood_until(b, s->kernel_ns);
	for (uint64_t i = 0; i < n && i < US_BOOT_HALTS; i++) {
		uint64_t at = s->halt_ns[i];
		if (at < best && at >= b->start_ns &&
		    at - b->start_ns - stood_until(b, at) >= after)
			best = at;
	}
	if (best != UINT64_MAX)
		pass_now(b, US_BOOT_IDLE, best, US_BOOT_BY_EVENTS);
}

static void read_events(struct booting *b)
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
			pass_now(b, seen[i].kind, seen[i].at_ns, US_BOOT_BY_EVENTS);
	read_halts(b, s);
}

/* ---- What samples show ---- */

static int begin_sampler(struct booting *b, struct us_err *e)
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

static int read_samples(struct booting *b, struct us_err *e)
{
	const struct us_boot_sampler *s = b->how->sampler;
	if (!b->sampling)
		return 0;
	for (size_t i = 0; i < b->plan->n; i++) {
		struct us_boot_moment m = { .cpu_ns = cpu_now(b),
					    .way = US_BOOT_BY_SAMPLES };
		enum us_boot_kind kind = b->plan->point[i].kind;
		if ((kind == US_BOOT_ENTRY || kind == US_BOOT_SYMBOL) &&
		    !b->run->at[i].seen && s->saw(s->ctx, i, &m))
			pass(b, i, &m);
	}
	return s->check(s->ctx, &b->run->n_sample, e);
}

/* ---- What breakpoints show ---- */

static bool is_late(const struct booting *b)
{
	return us_now_ns() - b->start_ns >= b->how->timeout_ns;
}

/* The guest stands still until then: it is not to miss anything.  false: it is no use
 * to wait for the sampler any more; the caller finds out why. */
static bool wait_for_sampler(struct booting *b, int *ret, struct us_err *e)
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

static int connect_stub(struct booting *b, struct us_err *e)
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
	hold(b, ready, go);
	if (b->how->events) /* these are more exact */
		return 0;
	pass_now(b, US_BOOT_VCPU, ready, US_BOOT_BY_BREAKPOINTS);
	pass_now(b, US_BOOT_START, go, US_BOOT_BY_BREAKPOINTS);
	return 0;
}

static int hear_stub(struct booting *b, struct us_err *e)
{
	struct us_boot_hit hit;
	int r = us_boot_breakpoints_hear(b->stub, &hit, e);
	if (r <= 0)
		return r;
	if (hit.point < b->plan->n)
		pass_point(b, hit.point, hit.at_ns, US_BOOT_BY_BREAKPOINTS);
	hold(b, hit.at_ns, hit.go_ns);
	return 0;
}

/* ---- What the VMM writes ---- */

static void end_line(struct booting *b, uint64_t now)
{
	b->line[b->line_n] = '\0';
	b->line_n = 0;
	for (size_t i = 0; i < b->plan->n; i++) {
		const struct us_boot_point *p = &b->plan->point[i];
		if (p->kind == US_BOOT_TEXT && !b->run->at[i].seen &&
		    !regexec(&p->text, b->line, 0, NULL, 0))
			pass_point(b, i, now, US_BOOT_BY_OUTPUT);
	}
}

/* An unfinished line counts, too, such as a prompt. */
static void match(struct booting *b, const char *bytes, size_t n, uint64_t now)
{
	for (size_t i = 0; i < n; i++) {
		bool end = bytes[i] == '\n' || bytes[i] == '\r';
		if (!end && b->line_n + 1 < sizeof(b->line))
			b->line[b->line_n++] = bytes[i] ? bytes[i] : ' ';
		if (end)
			end_line(b, now);
	}
	size_t keep = b->line_n;
	if (keep)
		end_line(b, now);
	b->line_n = keep;
}

static void keep_tail(struct us_boot_tail *t, const char *bytes, size_t n)
{
	size_t most = sizeof(t->text) - 1;
	if (n > most) {
		bytes += n - most;
		n = most;
	}
	if (t->n + n > most) {
		size_t drop = t->n + n - most;
		memmove(t->text, t->text + drop, t->n - drop);
		t->n -= drop;
	}
	memcpy(t->text + t->n, bytes, n);
	t->n += n;
	t->text[t->n] = '\0';
}

/* Reads what is available; 0: nothing. */
static size_t read_some(int *fd, char *bytes, size_t size)
{
	ssize_t n = read(*fd, bytes, size);
	if (n > 0)
		return (size_t)n;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	close(*fd);
	*fd = -1;
	return 0;
}

static void hear(struct booting *b)
{
	char bytes[4096];
	size_t n = read_some(&b->out, bytes, sizeof(bytes));
	uint64_t now = us_now_ns();
	if (!n)
		return;
	pass_now(b, US_BOOT_SERIAL, now, US_BOOT_BY_OUTPUT);
	match(b, bytes, n, now);
	keep_tail(&b->run->said, bytes, n);
}

static void hear_complaints(struct booting *b)
{
	char bytes[1024];
	keep_tail(&b->run->complained, bytes,
		  read_some(&b->error, bytes, sizeof(bytes)));
}

/* ---- One boot ---- */

/* A function that returned before the next sample will not be seen any more. */
static bool is_missed(const struct booting *b)
{
	size_t entry = us_boot_point_of(b->plan, US_BOOT_ENTRY);
	return b->sampling && !b->plan->asked && entry != SIZE_MAX &&
	       b->run->at[entry].seen &&
	       us_now_ns() - b->start_ns > b->run->at[entry].wall_ns + MISSED_NS;
}

static bool has_passed(const struct booting *b, bool wanted_alone)
{
	for (size_t i = 0; i < b->plan->n; i++)
		if (!b->run->at[i].seen && (b->plan->point[i].wanted || !wanted_alone))
			return false;
	return true;
}

static bool is_over(struct booting *b)
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
static void tell_over(const struct booting *b)
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

/* The VMM's last output is read before the run ends; but helpers that it has started,
 * such as swtpm or virtiofsd, may hold its output and be silent. */
static bool has_ended(struct booting *b, bool heard)
{
	if (!us_launch_ended(b->launch, &b->run->status))
		return false;
	uint64_t now = us_now_ns();
	if (heard || !b->quiet_ns)
		b->quiet_ns = now;
	return b->out < 0 || now - b->quiet_ns >= QUIET_NS;
}

static int wait_for_end(struct booting *b, struct us_err *e)
{
	for (;;) {
		int stub = b->stub ? us_boot_breakpoints_fd(b->stub) : -1, r = 0;
		struct pollfd p[] = { { .fd = b->out, .events = POLLIN },
				      { .fd = b->error, .events = POLLIN },
				      { .fd = stub, .events = POLLIN },
				      { .fd = b->trace.fd, .events = POLLIN } };
		(void)poll(p, 4, POLL_MS);
		if (p[3].revents)
			hear_trace(b);
		if (b->how->stub && !b->stub)
			r = connect_stub(b, e);
		else if (p[2].revents)
			r = hear_stub(b, e);
		else if (b->how->sampler && !b->how->stub && !b->sampling)
			r = begin_sampler(b, e);
		if (r == 0)
			r = read_samples(b, e);
		if (r == 0 && b->how->check)
			r = b->how->check(b->how->passed_ctx, e);
		/* If the VMM has ended, that is the reason, and it is reported below.
		 */
		if (r < 0 && !us_launch_ended(b->launch, NULL))
			return r;
		if (p[0].revents)
			hear(b);
		if (p[1].revents)
			hear_complaints(b);
		read_file(b);
		read_events(b);
		if (is_over(b)) {
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

static int start(struct booting *b, struct us_err *e)
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
	if (clock_getcpuclockid(us_launch_pid(b->launch), &b->cpu))
		b->cpu = CLOCK_MONOTONIC; /* it has ended */
	pass(b, 0, &(struct us_boot_moment){ .wall_ns = b->start_ns });
	return 0;
}

static int begin_events(struct booting *b, struct us_err *e)
{
	return b->how->events ? us_boot_events_begin(b->how->events, &b->how->code, e)
			      : 0;
}

int us_boot_run(const struct us_boot_plan *p, const struct us_boot_how *how,
		struct us_boot_run *ret, struct us_err *e)
{
	struct booting b = {
		.plan = p,
		.how = how,
		.run = ret,
		.out = -1,
		.error = -1,
		.trace = { .fd = -1 },
	};
	memset(ret, 0, sizeof(*ret));
	int r = make_file(&b, e);
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
			      stood_until(&b, ret->end_clock_ns);
	if (b.sampling)
		how->sampler->end(how->sampler->ctx);
	us_launch_close(b.launch);
	us_boot_breakpoints_close(b.stub);
	us_boot_trace_close(&b.trace);
	read_file(&b);
	read_events(&b);
	if (how->events) {
		us_boot_exits_read(how->events, &ret->exits);
		us_boot_events_end(how->events);
	}
	if (b.out >= 0)
		close(b.out);
	if (b.error >= 0)
		close(b.error);
	if (b.file && how->uses)
		us_boot_uses_read(b.file, how->uses);
	if (b.file) {
		munmap(b.file, sizeof(*b.file));
		unlink(how->file);
	}
	return r;
}
