/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gdb.c: look into a guest through the GDB stub of its VMM.
 *
 * A stop stops all vCPUs.  uniscope reads all their registers and delivers the captures
 * one after the other; the release of the last one resumes the guest.  If the VMM is a
 * QEMU on this host, memory is read from its process, as long as that agrees with what
 * the stub reads at the same addresses.  Otherwise it is read through the stub.
 */
#include "backend/after_hlt.h"
#include "backend/backend.h"
#include "backend/gdb/session.h"
#include "backend/remote.h"
#include "backend/watchdog.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "vmm/guest_threads.h"
#include "vmm/proc.h"
#include "vmm/qmp.h"
#include "vmm/socket_peer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define AARCH64_WFI	0xd503207f
#define STATUS_TRIES	3
#define STATUS_AGAIN_US 20000

extern const struct us_backend_ops us_backend_gdb;

struct gdb {
	struct us_remote remote;
	struct us_gdb_session *session;
	struct us_gdb_sample sample;
	const char *why;
};

/* Needs no quotes in a shell, and no program takes it for an option. */
static bool is_plain_word(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "0123456789_.+-");
	return *s && *s != '-' && !s[n];
}

/* If libvirt has the monitor, virsh can pass it a command. */
static void hint_stub(const struct us_guest *g, struct us_err *why)
{
	if (!g || !strcmp(g->vmm, "qemu"))
		us_hint(why,
			"in QEMU's monitor: gdbserver tcp:127.0.0.1:1234; or start "
			"it with -gdb unix:PATH,server=on,wait=off");
	else
		us_hint(why, "if this VMM has a GDB stub, start it with that, and "
			     "name it: gdb:HOST:PORT or gdb:PATH");
	if (!g || !g->libvirt)
		return;
	us_hint(why,
		"virsh qemu-monitor-command %s --hmp gdbserver tcp:127.0.0.1:1234; "
		"then uniscope record gdb:127.0.0.1:1234",
		is_plain_word(g->name) ? g->name : "DOMAIN");
}

static int is_offered(const struct us_target *t, struct us_err *why)
{
	if (!t->gdb[0] && t->guest && t->guest->lost_gdb[0])
		return us_guest_fail_lost(t->guest, "gdb", why), 0;
	if (!t->gdb[0]) {
		us_fail(why, -ENODEV, "no GDB stub is known");
		hint_stub(t->guest, why);
		return 0;
	}
	if (t->spared) {
		us_fail(why, -EBUSY,
			"its GDB stub is left to debuggers, since it serves one client "
			"at a time");
		us_hint(why, "to take it all the same: --backend gdb");
		return 0;
	}
	return (t->gdb[0] != '/' ||
		us_socket_find(t->gdb, "the GDB stub's socket", why) == 0) &&
	       !us_guest_is_stopped(t->guest, why);
}

/* Firecracker shuts down when the debugger leaves (src/vmm/src/gdb/event_loop.rs). */
static bool ends_with_us(const struct us_guest *g, struct us_err *why)
{
	if (!g || strcmp(g->vmm, "firecracker") != 0)
		return false;
	us_fail(why, -ENOTSUP,
		"Firecracker ends the guest when a debugger detaches from its stub");
	us_hint(why, "--backend bpf or kvm, which need no stub");
	return true;
}

static int gdb_probe(const struct us_target *t, struct us_err *why)
{
	if (!is_offered(t, why) || ends_with_us(t->guest, why))
		return 0;
	us_peer_ram_explain(t->guest, "by the stub", why);
	return 1;
}

static enum us_gdb_before ask_status(struct us_qmp *q)
{
	json_t *reply;
	if (!q || us_qmp_run(q, "query-status", NULL, &reply, NULL) < 0)
		return US_GDB_UNKNOWN_BEFORE;
	bool runs = json_is_true(json_object_get(reply, "running"));
	json_decref(reply);
	return runs ? US_GDB_RAN_BEFORE : US_GDB_PAUSED_BEFORE;
}

/*
 * Is the guest running?  Ask the monitor, if it is free.  A sampler on another monitor
 * stops the guest for a moment only, so ask again.
 */
static enum us_gdb_before find_status(struct us_qmp *q)
{
	enum us_gdb_before before = ask_status(q);
	for (unsigned i = 1; i < STATUS_TRIES && before == US_GDB_PAUSED_BEFORE; i++) {
		usleep(STATUS_AGAIN_US);
		before = ask_status(q);
	}
	return before;
}

static bool read_by_stub(void *ctx, us_gva va, void *buf, size_t len)
{
	struct gdb *b = ctx;
	return us_gdb_session_read(b->session, b->remote.stop.at, va, buf, len);
}

static bool read_entered(void *ctx, struct us_entered *ret)
{
	struct gdb *b = ctx;
	return us_gdb_session_left(b->session, b->remote.stop.at, &b->sample, ret);
}

/* A migration has a thread of its own. */
static void watch_threads(struct gdb *b)
{
	if (b->session->qemu)
		us_vmm_threads_open(&b->session->threads, b->remote.guest.pid);
}

/* If the VMM does not name its threads, the stub may have said which they are. */
static void learn_threads(struct gdb *b)
{
	struct us_guest *g = &b->remote.guest;
	_cleanup_close_ int proc = g->pid ? us_proc_open(g->pid) : -1;
	for (unsigned i = 0; proc >= 0 && i < g->n_vcpu && i < US_MAX_VCPUS; i++) {
		if (!g->vcpu[i].tid && b->session->tid[i])
			g->vcpu[i].tid = us_thread_by_inner_id(proc,
							       b->session->tid[i]);
	}
}

/* Take one sample, to find out before the recording whether the VMM's memory can be
 * read. */
static int try_ram(struct gdb *b, struct us_qmp *q, struct us_err *e)
{
	struct us_gdb_session *s = b->session;
	bool local = b->remote.guest.pid && s->qemu && s->layout.controls;
	us_peer_ram_open(&b->remote.ram, local ? &b->remote.guest : NULL, q,
			 "by the stub", read_by_stub, b);
	us_peer_ram_mem(&b->remote.ram)->read_entered = read_entered;
	int r = us_gdb_session_sample(s, 1, &b->sample);
	if (r < 0)
		return us_fail(e, r, "sample the guest: %s", s->client.why);
	b->remote.stop.at = 0;
	if (b->sample.got & 1 && b->sample.state[0] != US_GDB_UNPLUGGED)
		us_peer_ram_prepare(&b->remote.ram, &b->sample.regs[0]);
	r = us_gdb_session_resume(s);
	return r < 0 ? us_fail(e, r, "resume the guest: %s", s->client.why) : 0;
}

static int failed(struct gdb *b, int code, const char *why)
{
	b->why = why ? why : "the connection is unusable";
	if (code == -ESRCH)
		return code;
	bool gone = b->remote.guest.pid && !us_guest_alive(&b->remote.guest);
	return gone ? -ESRCH : -ECONNRESET;
}

static int sleep_until(void *ctx, uint64_t t_ns)
{
	struct gdb *b = ctx;
	int r = us_gdb_session_sleep(b->session, t_ns);
	return r < 0 && r != -EINTR ? failed(b, r, b->session->client.why) : r;
}

static int skip(struct us_whole_stop *w)
{
	w->got = 0;
	w->asked_ns = w->t_ns = us_now_ns();
	return 0;
}

static int sample(void *ctx)
{
	struct gdb *b = ctx;
	if (us_remote_suspends(&b->remote))
		return skip(&b->remote.stop);
	int r = us_gdb_session_sample(b->session, b->remote.stop.mask, &b->sample);
	uint64_t until_ns = us_watchdog_let_go_ns(b->session->watchdog);
	if (r < 0 && until_ns > b->sample.asked_ns) /* it has held the guest */
		b->remote.stop.undone_ns = until_ns - b->sample.asked_ns;
	b->remote.stop.asked_ns = b->sample.asked_ns;
	b->remote.stop.t_ns = b->sample.t_ns;
	b->remote.stop.got = b->sample.got;
	return r < 0 ? failed(b, r, b->session->client.why) : 0;
}

static int resume(void *ctx, uint64_t *ret_ns)
{
	struct gdb *b = ctx;
	bool held = b->session->run == US_GDB_HELD;
	int r = us_gdb_session_resume(b->session);
	*ret_ns = held ? us_watchdog_let_go_ns(b->session->watchdog) : us_now_ns();
	return r < 0 ? failed(b, r, b->session->client.why) : 0;
}

static bool ran(void *ctx, unsigned vcpu)
{
	const struct gdb *b = ctx;
	return b->sample.state[vcpu] == US_GDB_RUNNING;
}

static bool paused(void *ctx)
{
	const struct gdb *b = ctx;
	return b->session->run == US_GDB_PAUSED;
}

static bool read_code(void *ctx, us_gva at, void *buf, size_t len)
{
	struct gdb *b = ctx;
	return us_mem_read_gva(b->remote.base.mem, at, buf, len);
}

/* If the stub does not report halted vCPUs, the previous instruction shows them. */
static bool waits_after_hlt(struct gdb *b, const struct us_regs *regs)
{
	return !b->session->extra && us_is_after_hlt(regs, read_code, b);
}

/* KVM does not trap the WFI of a vCPU that has a host CPU for itself
 * (arch/arm64/kvm/arm.c, kvm_arch_vcpu_load()): neither KVM nor the VMM know of it. */
static bool waits_in_guest(struct gdb *b, const struct us_regs *regs)
{
	uint32_t insn;
	return b->remote.stop.runs_halted && !regs->user &&
	       us_mem_read_gva(b->remote.base.mem, regs->pc - 4, &insn, sizeof(insn)) &&
	       insn == AARCH64_WFI;
}

static void fill(void *ctx, unsigned vcpu, struct us_capture *c)
{
	static const uint8_t states[] = { [US_GDB_RUNNING] = US_VCPU_GUEST,
					  [US_GDB_HALTED] = US_VCPU_HALTED,
					  [US_GDB_OFF] = US_VCPU_OFF,
					  [US_GDB_UNPLUGGED] = US_VCPU_OFF };
	struct gdb *b = ctx;
	c->regs = b->sample.regs[vcpu];
	c->state = paused(b) ? US_VCPU_OFF : states[b->sample.state[vcpu]];
	if (b->sample.state[vcpu] == US_GDB_UNPLUGGED) {
		c->form = US_CAPTURE_NONE;
		return;
	}
	us_peer_ram_prepare(&b->remote.ram, &c->regs);
	if (c->state == US_VCPU_GUEST &&
	    (waits_after_hlt(b, &c->regs) || waits_in_guest(b, &c->regs))) {
		c->state = US_VCPU_HALTED;
		b->sample.state[vcpu] = US_GDB_HALTED;
	}
}

static const struct us_whole_stop_ops stop_ops = { .sleep = sleep_until,
						   .sample = sample,
						   .resume = resume,
						   .fill = fill,
						   .ran = ran,
						   .paused = paused };

/* What QEMU answers takes precedence over its command line. */
static enum us_accel accel_of(const struct gdb *b)
{
	return b->session->tcg	 ? US_ACCEL_TCG
	       : b->session->kvm ? US_ACCEL_KVM
				 : b->remote.guest.accel;
}

/* A monitor's owner may pause the guest, and does not learn that it was in vain. */
static bool may_lose_a_pause(const struct gdb *b)
{
	const struct us_guest *g = &b->remote.guest;
	return b->session->qemu && g->qmp[0] && !g->qmp_is_ours && !g->libvirt;
}

static void tell_left_out(const struct us_gdb_session *s, struct us_backend *base)
{
	if (s->n_beyond)
		us_append(
			base->caution, sizeof(base->caution),
			"%s%u more vCPUs are in other clusters, which are not sampled",
			base->caution[0] ? ". " : "", s->n_beyond);
	if (s->n_over)
		us_append(base->caution, sizeof(base->caution),
			  "%s%u more vCPUs are not sampled: uniscope supports %d at "
			  "most",
			  base->caution[0] ? ". " : "", s->n_over, US_MAX_VCPUS);
}

static void describe(struct gdb *b)
{
	const struct us_gdb_session *s = b->session;
	struct us_backend *base = &b->remote.base;
	base->n_vcpu = s->n_vcpu;
	base->arch = s->layout.arch;
	us_remote_describe(&b->remote, accel_of(b), &stop_ops);
	snprintf(base->how, sizeof(base->how), "%s stub%s%s, memory: %.80s",
		 s->qemu ? "QEMU's" : "GDB", s->client.no_ack ? ", no acks" : "",
		 s->run == US_GDB_PAUSED ? ", the guest was paused at the start" : "",
		 us_peer_ram_how(&b->remote.ram));
	tell_left_out(s, base);
	if (s->unsure)
		us_append(
			base->hazard, sizeof(base->hazard),
			"%snot known whether the guest was paused before: it runs now",
			base->hazard[0] ? "; " : "");
	if (s->slept)
		us_append(base->hazard, sizeof(base->hazard),
			  "%staken for paused, which it stays: its vCPUs' threads "
			  "slept; one that is suspended (S3) needs cont",
			  base->hazard[0] ? "; " : "");
	if (may_lose_a_pause(b))
		us_append(base->hazard, sizeof(base->hazard),
			  "%sa stop by QEMU's monitor may be lost meanwhile: see that "
			  "query-status says paused",
			  base->hazard[0] ? "; " : "");
}

static void gdb_close(struct us_backend *base)
{
	struct gdb *b = (struct gdb *)base;
	if (!b)
		return;
	us_gdb_session_close(b->session);
	us_remote_close(&b->remote);
	free(b);
}

/* The guest's own monitor, if the user named only the stub: it is asked nothing else,
 * and no client has to wait for us. */
static enum us_gdb_before find_status_beside(const struct us_guest *g)
{
	struct us_qmp *q;
	if (!g || strncmp(g->qmp, "qmp:", 4) != 0 ||
	    us_socket_find_client(g->qmp + 4, NULL) != US_SOCKET_FREE ||
	    us_qmp_open(g->qmp, &q, NULL) < 0)
		return US_GDB_UNKNOWN_BEFORE;
	enum us_gdb_before before = find_status(q);
	us_qmp_close(q);
	return before;
}

static int attach(struct gdb *b, const struct us_target *t, struct us_qmp *q,
		  struct us_err *e)
{
	int r = us_gdb_wait_free(t->gdb, e);
	if (r < 0)
		return r;
	return us_gdb_session_open(t->gdb,
				   q ? find_status(q) : find_status_beside(t->guest),
				   t->guest ? t->guest->pid : 0, &b->session, e);
}

static int gdb_open(const struct us_target *t, struct us_backend **ret,
		    struct us_err *e)
{
	if (!is_offered(t, e))
		return -ENODEV;
	struct gdb *b = calloc(1, sizeof(*b));
	if (!b)
		return us_fail(e, -ENOMEM, "attach to a stub: out of memory");
	b->remote.base.ops = &us_backend_gdb;
	struct us_qmp *q = NULL;
	bool free = t->qmp[0] && us_socket_find_client(t->qmp, NULL) != US_SOCKET_TAKEN;
	if (free && us_qmp_open(t->qmp, &q, NULL) < 0)
		q = NULL;
	int r = attach(b, t, q, e);
	if (r == 0) {
		us_remote_learn_guest(&b->remote, t, b->session->client.fd);
		learn_threads(b);
		watch_threads(b);
		r = try_ram(b, q, e);
	}
	us_qmp_close(q);
	if (r < 0) {
		gdb_close(&b->remote.base);
		return r;
	}
	describe(b);
	*ret = &b->remote.base;
	return 0;
}

/* Only a guest that stands can be asked. */
static unsigned late_vcpus(struct us_backend *base)
{
	struct gdb *b = (struct gdb *)base;
	if (us_remote_suspends(&b->remote) ||
	    us_gdb_session_sample(b->session, 1, &b->sample) < 0)
		return 0;
	unsigned n = us_gdb_session_late(b->session);
	return us_gdb_session_resume(b->session) < 0 ? 0 : n;
}

static void gdb_explain(const struct us_backend *base, int code, struct us_err *e)
{
	const struct gdb *b = (const struct gdb *)base;
	if (code == -ESRCH)
		us_fail(e, code, "the guest behind the GDB stub %s has ended: %s",
			b->session->endpoint, b->why);
	else
		us_fail(e, code, "the connection to the GDB stub %s is lost: %s",
			b->session->endpoint, b->why);
}

const struct us_backend_ops us_backend_gdb = {
	.name = "gdb",
	.summary =
		"GDB remote stub of any VMM; stops the guest for 0.1 to 1 ms a sample",
	.probe = gdb_probe,
	.open = gdb_open,
	.start = us_remote_start,
	.close = gdb_close,
	.next = us_remote_next,
	.release = us_remote_release,
	.let_go = us_remote_let_go,
	.counts = us_remote_counts,
	.explain = gdb_explain,
	.gathers = us_remote_gathers,
	.late_vcpus = late_vcpus,
};
