/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin.c: a guest in QEMU's emulation, if its QEMU has loaded uniscope's plugin.
 *
 * The plugin keeps each vCPU's place in its tree of calls as one word in a shared file
 * (vmm/plugin_counts.h).  A sample reads that word: it stops nothing and asks nothing,
 * and it can be taken at any instant.  Time that the plugin itself takes is not the
 * guest's.  A sample that falls into it is dropped, and the number of those shows how
 * much time the plugin took.
 */
#include "backend/backend.h"
#include "backend/kvm/probe.h"
#include "backend/pacer.h"
#include "backend/vcpu_threads.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "vmm/plugin_counts_file.h"
#include "vmm/plugin_find.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>

extern const struct us_backend_ops us_backend_plugin;

struct plugin {
	struct us_backend base;
	struct us_guest guest;
	int pidfd;
	struct us_counts counts;
	struct us_mem mem; /* none */
	struct us_vcpu_threads threads;
	struct seen {
		uint64_t insns, ran_ns; /* executed; CPU time of its thread; 0: ? */
		bool there;		/* the rest is from a look, not yet a sample */
		uint8_t doing;		/* enum us_counts_doing */
		bool waits;		/* for a host CPU */
		uint64_t t_ns;
		uint32_t node;
	} seen[US_MAX_VCPUS];
	struct us_pacer pacer;
	unsigned slot;	   /* of the capture that the caller has */
	bool precise;	   /* the sampler's timer slack is set */
	uint64_t n_plugin; /* samples that fell into the plugin's time */
	struct us_err why;
};

/* Gives no hint: those of backends that a running guest can still use come first. */
static int lacks_plugin(const struct us_target *t, struct us_err *why)
{
	const struct us_guest *g = t->guest;
	if (g->accel == US_ACCEL_KVM)
		return us_fail(why, -ENOTSUP, "pid %d runs under KVM", g->pid);
	return us_fail(why, -ENOTSUP,
		       "pid %d was started without uniscope's plugin (uniscope record "
		       "--prepare)",
		       g->pid);
}

/* -1: unknown. */
static int arch_of(const struct us_counts_head *h)
{
	static const struct {
		const char *target;
		enum us_arch arch;
	} archs[] = {
		{ "x86_64", US_ARCH_X86_64 },
		{ "i386", US_ARCH_X86_64 },
		{ "aarch64", US_ARCH_AARCH64 },
		{ "riscv64", US_ARCH_RISCV64 },
	};
	for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
		if (!strncmp(h->target, archs[i].target, sizeof(h->target)))
			return archs[i].arch;
	return -1;
}

static int open_counts(const struct us_target *t, struct us_counts *ret,
		       struct us_err *e)
{
	char path[PATH_MAX + 32];
	const struct us_guest *g = t->guest;
	*ret = (struct us_counts){ 0 };
	if (!g)
		return us_fail(e, -ENOTSUP, "the target names no process on this host");
	if (t->registers)
		return us_fail(e, -ENOTSUP, "it reports no registers");
	if (!us_guest_counts_path(g, path, sizeof(path)))
		return lacks_plugin(t, e);
	int r = us_counts_open(path, ret, e);
	if (r == 0 && ret->head.mixed)
		r = us_fail(e, -ENOTSUP,
			    "all vCPUs are in one thread (thread=single, -icount), and "
			    "this QEMU does not say which of them executes what");
	else if (r == 0 && ret->head.flat)
		r = us_fail(e, -ENOTSUP,
			    "the plugin only counts calls there, and keeps no stacks");
	else if (r == 0 && !ret->stays_whole)
		r = us_fail(e, -EPERM, "another user may cut the file %.200s short",
			    path);
	else if (r == 0 && arch_of(&ret->head) < 0)
		r = us_fail(e, -ENOTSUP, "the guest's architecture %.16s is not known",
			    ret->head.target);
	if (r < 0)
		us_counts_close(ret);
	return r;
}

/* A guest that has loaded the plugin needs the file no more, but none can load it. */
static int plugin_ready(struct us_err *why)
{
	char path[PATH_MAX];
	return us_plugin_find(path, why);
}

static int plugin_probe(const struct us_target *t, struct us_err *why)
{
	struct us_counts c;
	int r = open_counts(t, &c, why);
	us_counts_close(&c);
	return r == 0;
}

static void plugin_close(struct us_backend *b)
{
	struct plugin *p = (struct plugin *)b;
	if (!p)
		return;
	us_vcpu_threads_close(&p->threads);
	us_counts_close(&p->counts);
	us_closep(&p->pidfd);
	free(p);
}

static void describe(struct plugin *p)
{
	unsigned n = p->counts.head.n_vcpu, started = us_counts_started(&p->counts);
	struct us_backend *b = &p->base;
	b->ops = &us_backend_plugin;
	b->caps = US_CAP_NO_STOP | US_CAP_FUNCTIONS;
	b->arch = (enum us_arch)arch_of(&p->counts.head);
	b->layers = p->counts.head.layers;
	b->accel = US_ACCEL_TCG;
	b->n_vcpu = started && started < n ? started : n;
	snprintf(b->caution, sizeof(b->caution),
		 "functions that are called every few instructions, and their callers, "
		 "look larger than without the plugin; uniscope count counts all "
		 "instructions");
	if (b->n_vcpu > US_MAX_VCPUS) {
		snprintf(b->caution, sizeof(b->caution),
			 "%u more vCPUs are not sampled: uniscope supports %d at most",
			 b->n_vcpu - US_MAX_VCPUS, US_MAX_VCPUS);
		b->n_vcpu = US_MAX_VCPUS;
	}
	us_mem_init(&p->mem);
	b->mem = &p->mem;
	snprintf(b->how, sizeof(b->how),
		 "the plugin's tree of calls, read without a stop");
}

static int plugin_open(const struct us_target *t, struct us_backend **ret,
		       struct us_err *e)
{
	struct plugin *p = calloc(1, sizeof(*p));
	if (!p)
		return us_fail(e, -ENOMEM, "attach to a guest: out of memory");
	p->pidfd = -1;
	int r = open_counts(t, &p->counts, e);
	if (r == 0) {
		p->guest = *t->guest;
		us_vcpu_threads_open(&p->threads, &p->guest);
		p->pidfd = us_kvm_open_process(&p->guest, e);
		r = p->pidfd < 0 ? p->pidfd : 0;
	}
	if (r < 0) {
		plugin_close(&p->base);
		return r;
	}
	describe(p);
	*ret = &p->base;
	return 0;
}

static int plugin_start(struct us_backend *b, const struct us_schedule *s,
			struct us_err *e)
{
	struct plugin *p = (struct plugin *)b;
	struct us_schedule free_of_charge = *s;
	/* A sample costs the guest nothing; the plugin costs the same without it. */
	free_of_charge.budget_ppm = 0;
	us_pacer_init(&p->pacer, &free_of_charge, b->n_vcpu, 1, us_now_ns());
	memset(p->seen, 0, sizeof(p->seen));
	p->n_plugin = 0;
	if (!p->pacer.n_active)
		return us_fail(e, -EINVAL, "none of the %u vCPUs of pid %d is chosen",
			       b->n_vcpu, p->guest.pid);
	return 0;
}

/* From the node to the root of its tree. */
static void walk(const struct plugin *p, unsigned vcpu, uint32_t at,
		 struct us_stack *ret)
{
	uint32_t n;
	const struct us_counts_node *node = us_counts_nodes(&p->counts, vcpu, &n);
	ret->n = 0;
	ret->root = 0;
	ret->end = US_END_ROOT;
	/* The root stands for unknown code. */
	do {
		if (ret->n == US_MAX_FRAMES) {
			ret->end = US_END_DEPTH;
			return;
		}
		uint64_t address = at < n ? node[at].address : 0;
		uint32_t parent = at < n ? node[at].parent : 0;
		ret->pc[ret->n] = address ? address : US_COUNTS_UNNAMED;
		ret->flags[ret->n] = US_PC_EXACT;
		ret->how[ret->n++] = US_HOW_PC;
		at = parent < at ? parent : 0;
	} while (at);
}

static bool has_turn(const struct plugin *p, unsigned vcpu)
{
	const struct us_counts_head *h = us_counts_now(&p->counts);
	return !__atomic_load_n(&h->in_turns, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&h->turn, __ATOMIC_RELAXED) == vcpu;
}

static uint64_t insns_of(const struct plugin *p, const struct us_counts_vcpu *v)
{
	uint64_t n = __atomic_load_n(&v->insns, __ATOMIC_RELAXED), at = v->insns_at;
	struct iovec here = { &n, sizeof(n) };
	struct iovec there = { (void *)(uintptr_t)at, sizeof(n) };
	if (at && process_vm_readv(p->guest.pid, &here, 1, &there, 1, 0) != sizeof(n))
		n = 0;
	return n;
}

/* Has the vCPU executed anything between two looks, or has its thread run?  Unknown
 * counts as yes. */
static bool has_moved(const struct seen *before, const struct seen *now)
{
	return !now->insns || !now->ran_ns || now->insns != before->insns ||
	       now->ran_ns != before->ran_ns;
}

static void see(const struct plugin *p, unsigned vcpu, struct seen *ret)
{
	const struct us_counts_vcpu *v = us_counts_vcpu(&p->counts, vcpu);
	struct us_counts_vcpu now = { .place = __atomic_load_n(&v->place,
							       __ATOMIC_ACQUIRE) };
	*ret = (struct seen){ .there = true,
			      .t_ns = us_now_ns(),
			      .node = now.node,
			      .waits = !has_turn(p, vcpu),
			      .insns = insns_of(p, v) };
	ret->doing = now.doing < US_N_COUNTS_DOING ? (uint8_t)now.doing : US_COUNTS_OFF;
	struct us_vcpu_thread_time time;
	ret->ran_ns = us_vcpu_threads_time(&p->threads, vcpu, &time) ? time.ran : 0;
}

static uint8_t state_of(const struct seen *s)
{
	switch (s->doing) {
	case US_COUNTS_RUNS:
	case US_COUNTS_PLUGIN:
		return s->waits ? US_VCPU_READY : US_VCPU_GUEST;
	case US_COUNTS_HALTED:
		return US_VCPU_HALTED;
	default:
		return US_VCPU_OFF;
	}
}

/* false: it was the plugin's time.  Time that a vCPU waits for a host CPU is not
 * charged to the function that it is in. */
static bool make_sample(struct plugin *p, unsigned vcpu, const struct seen *s,
			struct us_capture *c)
{
	c->t_ns = s->t_ns;
	c->held_ns = 0;
	c->vcpu = (uint16_t)vcpu;
	c->weight = 1;
	c->exit = 0;
	c->host = NULL;
	c->form = US_CAPTURE_NONE;
	c->state = state_of(s);
	if (c->state != US_VCPU_GUEST)
		return true;
	p->n_plugin += s->doing == US_COUNTS_PLUGIN;
	if (s->doing == US_COUNTS_PLUGIN)
		return false;
	c->form = US_CAPTURE_STACK;
	walk(p, vcpu, s->node, &c->stack);
	return true;
}

/*
 * A running vCPU has moved since the previous look, and moves before the next one.  A
 * look therefore becomes a sample only when the next one is due.  false: there is none,
 * or it was the plugin's time.
 */
static bool look(struct plugin *p, unsigned vcpu, struct us_capture *c)
{
	struct seen *s = &p->seen[vcpu], before = *s;
	see(p, vcpu, s);
	bool moved = has_moved(&before, s);
	before.waits |= !moved;
	s->waits |= !moved;
	return before.there && make_sample(p, vcpu, &before, c);
}

static int gone(struct plugin *p)
{
	struct pollfd f = { .fd = p->pidfd, .events = POLLIN };
	if (!us_counts_ended(&p->counts) && poll(&f, 1, 0) <= 0)
		return 0;
	return us_fail(&p->why, -ESRCH, "the VMM, pid %d, has ended", p->guest.pid);
}

static int plugin_next(struct us_backend *b, uint64_t deadline_ns, struct us_capture *c)
{
	struct plugin *p = (struct plugin *)b;
	/* The kernel may otherwise wake us 50 us late, to save power. */
	if (!p->precise)
		p->precise = prctl(PR_SET_TIMERSLACK, 1) == 0;
	for (;;) {
		uint64_t due_ns;
		p->slot = us_pacer_next(&p->pacer, &due_ns);
		bool due = due_ns < deadline_ns;
		if (us_pacer_sleep(due ? due_ns : deadline_ns) || !due)
			return 0;
		int r = gone(p);
		if (r < 0)
			return r;
		if (look(p, p->slot, c))
			return 1;
		us_pacer_pass(&p->pacer, p->slot, us_now_ns());
	}
}

static void plugin_release(struct us_backend *b, struct us_capture *c)
{
	struct plugin *p = (struct plugin *)b;
	(void)c;
	us_pacer_done(&p->pacer, p->slot, us_now_ns(), 0);
}

/* The plugin's time is sampled, too: it follows from how many samples fell into it. */
static void plugin_counts(const struct us_backend *b, struct us_backend_counts *ret)
{
	const struct plugin *p = (const struct plugin *)b;
	us_pacer_counts(&p->pacer, us_now_ns(), ret);
	double samples = (double)(p->pacer.taken + p->n_plugin);
	if (samples > 0)
		ret->stolen_ns = (uint64_t)((double)ret->vcpu_ns * (double)p->n_plugin /
					    samples);
}

static void plugin_explain(const struct us_backend *b, int code, struct us_err *e)
{
	const struct plugin *p = (const struct plugin *)b;
	*e = p->why;
	e->code = code;
}

static int plugin_runs_images(const struct us_backend *b)
{
	return us_counts_are_of_images(&((const struct plugin *)b)->counts);
}

static uint64_t plugin_slide(const struct us_backend *b)
{
	return us_counts_slide(&((const struct plugin *)b)->counts);
}

const struct us_backend_ops us_backend_plugin = {
	.name = "plugin",
	.summary = "a guest in QEMU's emulation, without a stop: read from its plugin",
	.probe = plugin_probe,
	.ready = plugin_ready,
	.open = plugin_open,
	.start = plugin_start,
	.close = plugin_close,
	.next = plugin_next,
	.release = plugin_release,
	.counts = plugin_counts,
	.explain = plugin_explain,
	.runs_images = plugin_runs_images,
	.slide = plugin_slide,
};
