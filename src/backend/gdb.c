/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gdb.c: look into a guest through the GDB stub of its VMM.
 *
 * A stop stops all vCPUs.  Their registers are read at once and delivered one after
 * the other; the release of the last lets the guest go.  Memory is read from the
 * VMM's process if it is a QEMU on this host and its layout agrees with what the stub
 * reads at the same addresses, else by the stub.
 */
#include "backend/backend.h"
#include "backend/gdb_session.h"
#include "backend/pacer.h"
#include "backend/peer_ram.h"
#include "backend/vcpu_threads.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "vmm/qmp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define X86_HLT 0xf4

extern const struct us_backend_ops us_backend_gdb;

struct gdb {
	struct us_backend base;
	struct us_gdb_session *session;
	struct us_peer_ram ram;
	struct us_guest guest; /* pid 0: not known */
	struct us_pacer pacer;
	uint64_t mask;
	unsigned n_chosen;

	struct us_vcpu_threads threads;
	uint64_t busy; /* bit n: the thread of vCPU n had work when the look was due */
	struct us_gdb_look look;
	unsigned at;	  /* vCPU that is delivered now, or comes next */
	bool held;	  /* between the stop and the last release */
	uint64_t told_ns; /* of the hold: already in a capture's held_ns */
	int broken;	  /* what ended it, seen in release() */
	const char *why;
};

static int gdb_probe(const struct us_target *t, struct us_err *why)
{
	if (!t->gdb[0]) {
		us_fail(why, -ENODEV, "no GDB stub is known");
		us_hint(why,
			"in QEMU's monitor: gdbserver tcp:127.0.0.1:1234; or start "
			"it with -gdb unix:PATH,server=on,wait=off");
		return 0;
	}
	return t->gdb[0] != '/' ||
	       us_socket_find(t->gdb, "the GDB stub's socket", why) == 0;
}

/* Is it running? The monitor knows, if it has time for us. */
static enum us_gdb_before ask_status(struct us_qmp *q)
{
	json_t *reply;
	if (!q || us_qmp_run(q, "query-status", NULL, &reply, NULL) < 0)
		return US_GDB_UNKNOWN_BEFORE;
	bool runs = json_is_true(json_object_get(reply, "running"));
	json_decref(reply);
	return runs ? US_GDB_RAN_BEFORE : US_GDB_PAUSED_BEFORE;
}

static bool read_by_stub(void *ctx, us_gva va, void *buf, size_t len)
{
	struct gdb *b = ctx;
	return us_gdb_session_read(b->session, b->at, va, buf, len);
}

static void learn_guest(struct gdb *b, const struct us_target *t)
{
	pid_t pid = us_socket_peer_pid(b->session->client.fd);
	if (t->guest)
		b->guest = *t->guest;
	else if (pid <= 0 || us_guest_inspect(pid, &b->guest, NULL) < 0)
		b->guest.pid = 0;
}

/* One look, to know before the recording starts whether the VMM's memory will do. */
static int try_ram(struct gdb *b, struct us_qmp *q, struct us_err *e)
{
	struct us_gdb_session *s = b->session;
	bool local = b->guest.pid && s->qemu && s->layout.controls;
	us_peer_ram_open(&b->ram, local ? &b->guest : NULL, q, "by the stub",
			 read_by_stub, b);
	int r = us_gdb_session_look(s, 1, &b->look);
	if (r < 0)
		return us_fail(e, r, "look at the guest: %s", s->client.why);
	b->at = 0;
	if (b->look.got & 1)
		us_peer_ram_prepare(&b->ram, &b->look.regs[0]);
	r = us_gdb_session_resume(s);
	return r < 0 ? us_fail(e, r, "resume the guest: %s", s->client.why) : 0;
}

static void describe(struct gdb *b)
{
	const struct us_gdb_session *s = b->session;
	struct us_backend *base = &b->base;
	base->n_vcpu = s->n_vcpu;
	base->arch = s->layout.arch;
	base->caps = US_CAP_FREEZE | US_CAP_ALL_GPRS | US_CAP_WATCHDOG;
	base->mem = us_peer_ram_mem(&b->ram);
	if (us_peer_ram_is_mapped(&b->ram))
		base->caps |= US_CAP_MAP;
	snprintf(base->how, sizeof(base->how), "%s stub%s%s, memory: %.80s",
		 s->qemu ? "QEMU's" : "GDB", s->client.no_ack ? ", no acks" : "",
		 s->run == US_GDB_PAUSED ? ", the guest is paused" : "",
		 us_peer_ram_how(&b->ram));
	bool tcg = s->tcg || b->guest.accel == US_ACCEL_TCG;
	if (tcg)
		base->caps |= US_CAP_BLOCKS;
	snprintf(base->caution, sizeof(base->caution), "%s%s%s",
		 tcg ? "TCG stops at the start of the next translation block: a caller "
		       "and its callee swap shares, sums over both are right; exact "
		       "figures need counting"
		     : "",
		 tcg && s->unsure ? "; " : "",
		 s->unsure ? "not known whether the guest was paused before" : "");
}

static void gdb_close(struct us_backend *base)
{
	struct gdb *b = (struct gdb *)base;
	if (!b)
		return;
	us_gdb_session_close(b->session);
	us_peer_ram_close(&b->ram);
	us_vcpu_threads_close(&b->threads);
	free(b);
}

static int gdb_open(const struct us_target *t, struct us_backend **ret,
		    struct us_err *e)
{
	if (!gdb_probe(t, e))
		return -ENODEV;
	struct gdb *b = calloc(1, sizeof(*b));
	if (!b)
		return us_fail(e, -ENOMEM, "attach to a stub: out of memory");
	b->base.ops = &us_backend_gdb;
	struct us_qmp *q = NULL;
	if (t->qmp[0] && us_qmp_open(t->qmp, &q, NULL) < 0)
		q = NULL;
	int r = us_gdb_session_open(t->gdb, ask_status(q), &b->session, e);
	if (r == 0) {
		learn_guest(b, t);
		r = try_ram(b, q, e);
	}
	us_qmp_close(q);
	if (r < 0) {
		gdb_close(&b->base);
		return r;
	}
	describe(b);
	*ret = &b->base;
	return 0;
}

static int gdb_start(struct us_backend *base, const struct us_schedule *s,
		     struct us_err *e)
{
	struct gdb *b = (struct gdb *)base;
	int r = us_pacer_init_whole(&b->pacer, s, base->n_vcpu, &b->mask, e);
	if (r < 0)
		return r;
	b->n_chosen = b->pacer.weight;
	if (!s->wake_halted)
		us_vcpu_threads_open(&b->threads, &b->guest);
	return 0;
}

static int failed(struct gdb *b, int code, const char *why)
{
	b->why = why ? why : "the connection is of no use";
	if (code == -ESRCH)
		return code;
	bool gone = b->guest.pid && !us_guest_alive(&b->guest);
	return gone ? -ESRCH : -ECONNRESET;
}

/* vCPUs that ran when they were stopped: only from them time was taken. */
static unsigned n_running(const struct gdb *b)
{
	unsigned n = 0;
	for (unsigned i = 0; i < b->base.n_vcpu; i++)
		n += b->look.got >> i & 1 && b->look.state[i] == US_GDB_RUNNING;
	return b->session->run == US_GDB_PAUSED ? 0 : n;
}

/* All captures of this stop are done. */
static int end_look(struct gdb *b)
{
	unsigned n = n_running(b);
	int r = us_gdb_session_resume(b->session);
	uint64_t now = us_now_ns();
	uint64_t stolen = (now - b->look.asked_ns) * n / b->n_chosen;
	unsigned n_failed = b->n_chosen - (unsigned)__builtin_popcountll(b->look.got);
	b->held = false;
	us_pacer_done(&b->pacer, 0, now, stolen);
	if (n_failed)
		us_pacer_failed(&b->pacer, n_failed);
	return r < 0 ? failed(b, r, b->session->client.why) : 0;
}

static void find_next(struct gdb *b)
{
	while (b->at < b->base.n_vcpu && !(b->look.got >> b->at & 1))
		b->at++;
}

/* A stub that does not tell a halted vCPU: the instruction before the next one does. */
static bool waits_after_hlt(struct gdb *b, const struct us_regs *regs)
{
	uint8_t byte;
	return !b->session->extra && regs->arch == US_ARCH_X86_64 && !regs->user &&
	       us_mem_read_gva(b->base.mem, regs->pc - 1, &byte, 1) && byte == X86_HLT;
}

static void deliver(struct gdb *b, struct us_capture *c)
{
	static const uint8_t states[] = { [US_GDB_RUNNING] = US_VCPU_GUEST,
					  [US_GDB_HALTED] = US_VCPU_HALTED,
					  [US_GDB_OFF] = US_VCPU_OFF };
	c->t_ns = b->look.t_ns;
	c->held_ns = 0;
	c->vcpu = (uint16_t)b->at;
	c->weight = 1;
	c->form = US_CAPTURE_LIVE;
	c->regs = b->look.regs[b->at];
	c->state = states[b->look.state[b->at]];
	if (b->session->run == US_GDB_PAUSED)
		c->state = US_VCPU_OFF;
	us_peer_ram_prepare(&b->ram, &c->regs);
	if (c->state == US_VCPU_GUEST && waits_after_hlt(b, &c->regs)) {
		c->state = US_VCPU_HALTED;
		b->look.state[b->at] = US_GDB_HALTED;
	}
	/* It ran, and had ended by the time it stood: busy, but where is not known. */
	if (c->state == US_VCPU_HALTED && b->busy >> b->at & 1) {
		c->state = US_VCPU_GUEST;
		c->form = US_CAPTURE_NONE;
	}
}

static int gdb_next(struct us_backend *base, uint64_t deadline_ns, struct us_capture *c)
{
	struct gdb *b = (struct gdb *)base;
	while (!b->held) {
		if (b->broken)
			return b->broken;
		uint64_t due_ns;
		us_pacer_next(&b->pacer, &due_ns);
		uint64_t until = due_ns < deadline_ns ? due_ns : deadline_ns;
		int r = us_gdb_session_sleep(b->session, until);
		if (r == -EINTR)
			return 0;
		if (r < 0)
			return failed(b, r, b->session->client.why);
		if (due_ns > deadline_ns)
			return 0;
		b->busy = us_vcpu_threads_busy(&b->threads);
		r = us_gdb_session_look(b->session, b->mask, &b->look);
		if (r < 0)
			return failed(b, r, b->session->client.why);
		b->at = 0;
		b->told_ns = b->look.asked_ns;
		b->held = true;
		find_next(b);
		if (b->at < base->n_vcpu)
			break;
		r = end_look(b);
		if (r < 0)
			return r;
		if (us_now_ns() >= deadline_ns)
			return 0;
	}
	deliver(b, c);
	return 1;
}

/* The captures of one stop share its time: each gets what passed since the one before
 * it was released. */
static void gdb_release(struct us_backend *base, struct us_capture *c)
{
	struct gdb *b = (struct gdb *)base;
	b->at++;
	find_next(b);
	if (b->at >= base->n_vcpu)
		b->broken = end_look(b);
	uint64_t now = us_now_ns();
	c->held_ns = b->session->run == US_GDB_PAUSED ? 0 : now - b->told_ns;
	b->told_ns = now;
}

static void gdb_counts(const struct us_backend *base, struct us_backend_counts *ret)
{
	const struct gdb *b = (const struct gdb *)base;
	us_pacer_counts(&b->pacer, us_now_ns(), ret);
}

static void gdb_explain(const struct us_backend *base, int code, struct us_err *e)
{
	const struct gdb *b = (const struct gdb *)base;
	if (code == -ESRCH)
		us_fail(e, code, "the guest behind the GDB stub %s has ended: %s",
			b->session->endpoint, b->why);
	else
		us_fail(e, code, "the GDB stub %s is lost: %s", b->session->endpoint,
			b->why);
}

const struct us_backend_ops us_backend_gdb = {
	.name = "gdb",
	.summary = "GDB remote stub of any VMM; stops the guest for 0.2 to 1 ms a look",
	.probe = gdb_probe,
	.open = gdb_open,
	.start = gdb_start,
	.close = gdb_close,
	.next = gdb_next,
	.release = gdb_release,
	.counts = gdb_counts,
	.explain = gdb_explain,
};
