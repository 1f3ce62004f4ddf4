/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qmp.c: look into a guest through QEMU's monitor: stop, info registers, cont.
 *
 * QEMU reads a monitor one byte a turn of a loop (2.7 us), so commands are short and go
 * out in one batch: what follows a stop is read while it is carried out, and all but
 * the end of cont before it is wanted.  All vCPUs stop together; captures are delivered
 * one after the other, and the release of the last lets the guest go.  Each sample
 * makes a STOP and a RESUME event, which other clients of the monitor see.
 */
#include "backend/backend.h"
#include "backend/qmp/probe.h"
#include "backend/qmp/reply.h"
#include "backend/qmp/stream.h"
#include "backend/remote.h"
#include "backend/vmm_threads.h"
#include "backend/watchdog.h"
#include "base/clock.h"
#include "vmm/host.h"
#include "vmm/qmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_NS     (2500 * US_NS_PER_MS)
#define RARELY_NS     (2 * US_NS_PER_SEC)
#define USUAL_NS      (2 * US_NS_PER_MS) /* of a hold, but on a busy host */
#define HOLD_LIMIT_MS 3000
#define RESCUE_NS     (24 * 3600 * US_NS_PER_SEC) /* nobody waits for the watchdog */
#define VCPU_TEXT     8192 /* of `info registers`, as JSON: 6.4 kB with AVX-512 */
#define OTHER_TEXT    16384
#define HUMAN	      "{\"execute\":\"human-monitor-command\",\"arguments\":{"
#define QUERY_MIGRATE "{\"execute\":\"query-migrate\"}\n"
#define QUERY_VCPUS   "{\"execute\":\"query-cpus-fast\"}\n"
#define QUERY_STATUS  "{\"execute\":\"query-status\"}\n"
#define RESCUE_ID     "uniscope-watchdog"
/* A command that waits for its end, and one that makes it none, which QEMU refuses. */
#define CONT	    "{\"execute\":\"cont\""
#define CONT_END    "}\n"
#define CONT_CANCEL ",\"not\":0}\n"

static const char watchdog_why[] = "the watchdog had to resume the guest";

extern const struct us_backend_ops us_backend_qmp;

struct qmp {
	struct us_remote remote;
	struct us_qmp *client; /* owns the socket; its setup commands are done */
	struct us_qmp_stream stream;
	struct us_watchdog *watchdog;
	bool paused;   /* by its owner, or asleep (S3): not to be resumed */
	bool unsure;   /* it fell asleep or woke up: ask whether it runs */
	bool guarded;  /* we have stopped it, and the watchdog has been told */
	bool begun;    /* CONT was sent, and waits for its end */
	bool astray;   /* replies may be under way that belong to nothing */
	bool mute;     /* the monitor does not say whether a migration goes on */
	bool migrates; /* it does, by the last answer */
	uint64_t ask_migrate_ns; /* ask again then, whatever threads say */
	struct us_vmm_threads threads;
	bool resumed; /* the last event of the kind said that it runs again */
	struct us_qmp_vcpu vcpu[US_MAX_VCPUS];
	char *text; /* of a reply, unquoted */
	size_t text_size;
	const char *why;
};

static int failed(struct qmp *b, int code, const char *why)
{
	b->why = why;
	if (code == -ETIMEDOUT || code == -EPROTO)
		code = -ECONNRESET;
	if (b->remote.guest.pid && !us_guest_alive(&b->remote.guest))
		code = -ESRCH;
	b->remote.stop.broken = code;
	return code;
}

/* An event that says whether the guest runs; unless we hold it, by another's will.  A
 * guest that wakes up sends no RESUME, and its owner may have paused it. */
static void note_event(struct qmp *b, const char *name, size_t len)
{
	enum us_qmp_event event = us_qmp_event(name, len);
	b->unsure |= event == US_QMP_SUSPEND || event == US_QMP_WAKEUP;
	if (event != US_QMP_STOP && event != US_QMP_RESUME)
		return;
	b->resumed = event == US_QMP_RESUME;
	if (!b->guarded)
		b->paused = event == US_QMP_STOP;
}

/* Events that came while we were away. */
static int drain(struct qmp *b)
{
	for (;;) {
		const char *value;
		size_t len;
		int r = us_qmp_stream_next(&b->stream, 0, &value, &len);
		if (r == -ETIMEDOUT)
			return 0;
		if (r < 0)
			return failed(b, r, b->stream.why);
		if (r == US_QMP_EVENT)
			note_event(b, value, len);
	}
}

static int say(struct qmp *b, const char *text, uint64_t deadline_ns)
{
	int r = us_qmp_stream_send(&b->stream, text, deadline_ns);
	b->astray |= r < 0;
	return r;
}

/* The value of the next reply. -EREMOTEIO: an error. */
static int reply(struct qmp *b, uint64_t deadline_ns, const char **value, size_t *len)
{
	for (;;) {
		int r = us_qmp_stream_next(&b->stream, deadline_ns, value, len);
		b->astray |= r < 0;
		if (r < 0)
			return r;
		if (r == US_QMP_RETURN)
			return 0;
		if (r == US_QMP_ERROR)
			return -EREMOTEIO;
		note_event(b, *value, *len);
	}
}

static int ask(struct qmp *b, const char *command, uint64_t deadline_ns,
	       const char **value, size_t *len)
{
	int r = say(b, command, deadline_ns);
	return r < 0 ? r : reply(b, deadline_ns, value, len);
}

/* The reply of a human command, as text. */
static int reply_text(struct qmp *b, uint64_t deadline_ns)
{
	const char *value;
	size_t len;
	int r = reply(b, deadline_ns, &value, &len);
	if (r < 0)
		return r;
	return us_qmp_unquote(value, len, b->text, b->text_size) < 0 ? -EPROTO : 0;
}

static char *put(char *to, const char *text)
{
	return stpcpy(to, text);
}

static char *put_index(char *to, unsigned vcpu)
{
	char digits[12], *p = digits + sizeof(digits) - 1;
	*p = '\0';
	do
		*--p = (char)('0' + vcpu % 10);
	while (vcpu /= 10);
	return put(put(to, ",\"cpu-index\":"), p);
}

/* One vCPU by its number; of several, all: shorter than one command for each. */
static char *put_registers(struct qmp *b, char *to)
{
	to = put(to, HUMAN "\"command-line\":\"info registers");
	if (b->remote.stop.n_chosen > 1)
		return put(to, " -a\"}}\n");
	unsigned vcpu = (unsigned)__builtin_ctzll(b->remote.stop.mask);
	to = put(to, "\"");
	if (vcpu)
		to = put_index(to, vcpu);
	return put(to, "}}\n");
}

static void put_sample(struct qmp *b, char *to)
{
	if (b->guarded)
		to = put(to, "{\"execute\":\"stop\"}");
	to = put_registers(b, to);
	/* Unless the monitor is to read memory in between. */
	b->begun = b->guarded && b->remote.ram.sure;
	if (b->begun)
		put(to, CONT);
}

static int read_vcpus(struct qmp *b)
{
	const char *at = b->text;
	unsigned only = (unsigned)__builtin_ctzll(b->remote.stop.mask);
	unsigned most = b->remote.stop.n_chosen > 1 ? US_MAX_VCPUS : 1;
	for (unsigned i = 0; i < most; i++) {
		struct us_qmp_vcpu v;
		int r = most > 1 ? us_qmp_next_vcpu(&at, &v)
				 : us_qmp_only_vcpu(at, only, &v);
		if (r == 0)
			break;
		if (r < 0 || v.index >= b->remote.base.n_vcpu ||
		    !(b->remote.stop.mask >> v.index & 1))
			continue;
		b->vcpu[v.index] = v;
		b->remote.stop.got |= 1ull << v.index;
	}
	return 0;
}

static bool cancel_cont(struct qmp *b, uint64_t deadline_ns)
{
	const char *value;
	size_t len;
	if (!b->begun)
		return true;
	b->begun = false;
	int r = ask(b, CONT_CANCEL, deadline_ns, &value, &len);
	b->astray |= r != -EREMOTEIO;
	return r == -EREMOTEIO;
}

/*
 * Has a migration begun and ended while we held the guest?  None does within a hold of
 * the usual length.  Then it is not ours any more, and must not go on here.
 */
static bool migrated(struct qmp *b, uint64_t deadline_ns)
{
	const char *value = "";
	size_t len = 0;
	return us_now_ns() > b->remote.stop.asked_ns + USUAL_NS &&
	       cancel_cont(b, deadline_ns) &&
	       ask(b, QUERY_STATUS, deadline_ns, &value, &len) == 0 &&
	       memmem(value, len, "migrate", 7);
}

static int send_cont(struct qmp *b, uint64_t deadline_ns)
{
	const char *value;
	size_t len;
	b->paused = migrated(b, deadline_ns);
	if (b->paused)
		return 0;
	if (b->astray)
		return -ETIMEDOUT;
	const char *rest = b->begun ? CONT_END : CONT CONT_END;
	b->begun = false;
	int r = ask(b, rest, deadline_ns, &value, &len);
	/* It has crashed meanwhile, and cannot go on: that is not our stop any more. */
	if (r == -EREMOTEIO) {
		b->paused = true;
		r = 0;
	}
	return r;
}

/*
 * The next reply may be one to an earlier command: none says that the guest goes on.
 * And were this connection closed, QEMU would not read the cont that it has not read
 * yet.  The watchdog has one of its own and keeps the connection until that is
 * answered.
 */
static int leave_to_watchdog(struct qmp *b)
{
	us_watchdog_alarm(b->watchdog);
	b->guarded = false;
	return failed(b, -ETIMEDOUT, b->stream.why);
}

/* End the hold; nothing to do if the guest was paused by its owner. */
static int end_hold(struct qmp *b)
{
	int r = 0;
	if (b->guarded && !b->astray && us_watchdog_renew(b->watchdog))
		r = send_cont(b, us_now_ns() + SAMPLE_NS);
	if (b->guarded && b->astray && !us_watchdog_fired(b->watchdog))
		return leave_to_watchdog(b);
	bool ours = !b->guarded || us_watchdog_release(b->watchdog);
	b->guarded = false;
	/* It reads what comes on this connection, too: then nothing seems to come. */
	if (!ours && (r == 0 || r == -ETIMEDOUT)) {
		b->stream.why = watchdog_why;
		r = -ECONNRESET;
	}
	return r < 0 ? failed(b, r, b->stream.why) : 0;
}

static int resume(void *ctx, uint64_t *ret_ns)
{
	struct qmp *b = ctx;
	bool held = b->guarded;
	int r = end_hold(b);
	*ret_ns = held ? us_watchdog_let_go_ns(b->watchdog) : us_now_ns();
	return r;
}

/*
 * If the guest is stopped when its migration ends, it stays paused at the destination
 * and goes on at the source.  So it is not stopped while it migrates.  1: it does.  The
 * answer takes as long as a stop, and QEMU has a thread more while a guest migrates: so
 * it is asked when there is a new one, and now and then.
 */
static int migrates(struct qmp *b)
{
	uint64_t now = us_now_ns(), deadline_ns = now + SAMPLE_NS;
	const char *value = "";
	size_t len = 0;
	if (b->mute || b->paused)
		return 0;
	bool changed = us_vmm_threads_changed(&b->threads);
	if (!changed && !b->migrates && now < b->ask_migrate_ns)
		return 0;
	int r = ask(b, QUERY_MIGRATE, deadline_ns, &value, &len);
	b->mute = r == -EREMOTEIO;
	if (b->mute)
		return 0;
	b->migrates = r == 0 && us_qmp_migrates(value, len);
	b->ask_migrate_ns = now + RARELY_NS;
	return r < 0 ? failed(b, r, b->stream.why) : b->migrates;
}

static int learn_whether_it_runs(struct qmp *b)
{
	const char *value;
	size_t len;
	if (!b->unsure)
		return 0;
	b->unsure = false;
	int r = ask(b, QUERY_STATUS, us_now_ns() + SAMPLE_NS, &value, &len);
	if (r == 0)
		b->paused = !us_qmp_runs(value, len);
	return r < 0 && r != -EREMOTEIO ? failed(b, r, b->stream.why) : 0;
}

static int skip(struct qmp *b)
{
	b->remote.stop.got = 0;
	b->remote.stop.asked_ns = b->remote.stop.t_ns = us_now_ns();
	return 0;
}

/* A sample that failed with r has held the guest all the same. */
static int undo_sample(struct qmp *b, int r)
{
	const char *why = r == -EREMOTEIO ? "QEMU refuses a command" : b->stream.why;
	bool held = b->guarded;
	if (end_hold(b) < 0 && us_watchdog_fired(b->watchdog) &&
	    b->stream.why == watchdog_why)
		why = watchdog_why;
	if (held)
		b->remote.stop.undone_ns = us_watchdog_let_go_ns(b->watchdog) -
					   b->remote.stop.asked_ns;
	return failed(b, r == -EREMOTEIO ? -EPROTO : r, why);
}

/* Stop the guest and read the chosen vCPUs. What fails after the stop is undone. */
static int sample(void *ctx)
{
	struct qmp *b = ctx;
	char batch[256];
	const char *value;
	size_t len;
	int r = drain(b);
	if (r == 0)
		r = learn_whether_it_runs(b);
	if (r == 0)
		r = us_remote_suspends(&b->remote) ? 1 : migrates(b);
	if (r != 0)
		return r < 0 ? r : skip(b);
	/* Of a guest that stands already the watchdog must not know. */
	b->guarded = !b->paused;
	if (b->guarded && !us_watchdog_hold(b->watchdog))
		return failed(b, -ECONNRESET, watchdog_why);
	put_sample(b, batch);
	b->remote.stop.got = 0;
	b->remote.stop.asked_ns = us_now_ns();
	uint64_t deadline_ns = b->remote.stop.asked_ns + SAMPLE_NS;
	r = say(b, batch, deadline_ns);
	b->resumed = false;
	if (r == 0 && b->guarded)
		r = reply(b, deadline_ns, &value, &len);
	b->remote.stop.t_ns = us_now_ns();
	if (r == 0)
		r = reply_text(b, deadline_ns);
	/* Of a guest that its owner let go meanwhile the registers fit nothing. */
	if (r == 0)
		return b->resumed ? 0 : read_vcpus(b);
	return undo_sample(b, r);
}

static bool read_piece(struct qmp *b, us_gva va, void *buf, size_t len)
{
	uint64_t deadline_ns = us_now_ns() + SAMPLE_NS;
	char command[160];
	us_gva start = va & ~7ull;
	size_t words = (size_t)((va - start) + len + 7) / 8;
	uint8_t bytes[US_MEM_LINE + 16];
	int n = snprintf(command, sizeof(command),
			 HUMAN "\"command-line\":\"x/%zuxg 0x%llx\"", words,
			 (unsigned long long)start);
	char *to = command + n;
	if (b->remote.stop.at)
		to = put_index(to, b->remote.stop.at);
	put(to, "}}\n");
	if (!cancel_cont(b, deadline_ns) || say(b, command, deadline_ns) ||
	    reply_text(b, deadline_ns) || !us_qmp_read_dump(b->text, bytes, words * 8))
		return false;
	memcpy(buf, bytes + (va - start), len);
	return true;
}

/* Memory as a vCPU sees it, where the VMM's process may not be read: slow. */
static bool read_by_monitor(void *ctx, us_gva va, void *buf, size_t len)
{
	struct qmp *b = ctx;
	uint8_t *to = buf;
	for (size_t n; b->remote.stop.held && len; va += n, to += n, len -= n) {
		n = len < US_MEM_LINE ? len : US_MEM_LINE;
		if (!read_piece(b, va, to, n))
			return false;
	}
	return b->remote.stop.held;
}

/* In the watchdog's process. Replies may still be under way: only its own counts. The
 * first bytes end a cont that was begun, and are an error if none was. */
static void rescue(void *ctx, bool held)
{
	struct qmp *b = ctx;
	uint64_t deadline_ns = us_now_ns() + RESCUE_NS;
	if (!held)
		return;
	us_qmp_stream_reset(&b->stream);
	if (us_qmp_stream_send(&b->stream,
			       CONT_END CONT ",\"id\":\"" RESCUE_ID "\"" CONT_END,
			       deadline_ns) < 0)
		return;
	us_qmp_stream_wait(&b->stream, RESCUE_ID, deadline_ns);
}

/* Setup. */

static int ask_bool(struct us_qmp *q, const char *command, const char *key, bool *ret,
		    struct us_err *e)
{
	json_t *reply;
	int r = us_qmp_run(q, command, NULL, &reply, e);
	if (r < 0)
		return r;
	*ret = json_is_true(json_object_get(reply, key));
	json_decref(reply);
	return 0;
}

static int ask_vcpus(struct qmp *b, struct us_err *e)
{
	json_t *reply;
	int r = us_qmp_run(b->client, "query-cpus-fast", NULL, &reply, e);
	if (r < 0)
		return r;
	size_t n = json_array_size(reply);
	const char *arch = json_string_value(
		json_object_get(json_array_get(reply, 0), "target"));
	bool x86 = arch && (!strcmp(arch, "x86_64") || !strcmp(arch, "i386"));
	if (!n || n > US_MAX_VCPUS)
		r = us_fail(e, -ENOTSUP, "it has %zu vCPUs, and 1 to %d can be watched",
			    n, US_MAX_VCPUS);
	else if (!x86) {
		r = us_fail(
			e, -ENOTSUP,
			"its processor is %.40s, of which the monitor does not show "
			"all that a walk of its page tables needs",
			arch ? arch : "unknown");
		us_hint(e, "use its GDB stub, --backend gdb; to start one, in the "
			   "monitor: gdbserver tcp:127.0.0.1:1234");
	}
	json_decref(reply);
	b->remote.base.n_vcpu = (unsigned)n;
	return r;
}

/* Of a VMM that does not name its threads. */
static void learn_threads(struct qmp *b)
{
	struct us_guest *g = &b->remote.guest;
	bool known = true;
	for (unsigned i = 0; i < g->n_vcpu; i++)
		known &= g->vcpu[i].tid != 0;
	if (g->pid && !known && us_guest_vcpus_from_monitor(g, b->client, NULL) < 0)
		return; /* then a stop seems to cost a little more than it does */
}

static int ask_guest(struct qmp *b, const struct us_target *t, struct us_err *e)
{
	bool runs, kvm = false;
	int r = ask_bool(b->client, "query-status", "running", &runs, e);
	if (r == 0)
		r = ask_vcpus(b, e);
	if (r < 0)
		return r;
	b->paused = !runs;
	us_remote_learn_guest(&b->remote, t, us_qmp_fd(b->client));
	if (!b->remote.guest.pid) /* else its command line has told that */
		r = us_qmp_refuse_protected(b->client, e);
	if (r < 0)
		return r;
	learn_threads(b);
	us_vmm_threads_open(&b->threads, b->remote.guest.pid);
	if (b->remote.guest.accel == US_ACCEL_UNKNOWN &&
	    ask_bool(b->client, "query-kvm", "enabled", &kvm, NULL) == 0)
		b->remote.guest.accel = kvm ? US_ACCEL_KVM : US_ACCEL_TCG;
	return 0;
}

static int make_buffers(struct qmp *b, struct us_err *e)
{
	b->text_size = OTHER_TEXT + (size_t)b->remote.base.n_vcpu * VCPU_TEXT;
	b->text = malloc(b->text_size);
	b->stream.size = b->text_size;
	b->stream.buf = malloc(b->stream.size);
	b->stream.fd = us_qmp_fd(b->client);
	if (!b->text || !b->stream.buf)
		return us_fail(e, -ENOMEM, "out of memory");
	return 0;
}

static int start_watchdog(struct qmp *b, struct us_err *e)
{
	struct us_watchdog_opts o = { .resume = rescue,
				      .ctx = b,
				      .limit_ms = HOLD_LIMIT_MS,
				      .keep = &b->stream.fd,
				      .n_keep = 1 };
	return us_watchdog_start(&o, &b->watchdog, e);
}

/* One sample, to know before the recording starts whether the VMM's memory will do. */
static int try_ram(struct qmp *b, struct us_err *e)
{
	b->remote.stop.mask = 1;
	b->remote.stop.n_chosen = 1;
	b->remote.stop.at = 0;
	int r = sample(b);
	if (r < 0)
		return us_fail(e, r, "sample the guest: %s", b->why);
	b->remote.stop.held = true;
	if (b->remote.stop.got)
		us_peer_ram_prepare(&b->remote.ram, &b->vcpu[0].regs);
	b->remote.stop.held = false;
	r = end_hold(b);
	return r < 0 ? us_fail(e, r, "resume the guest: %s", b->why) : 0;
}

static bool ran(void *ctx, unsigned vcpu)
{
	const struct qmp *b = ctx;
	return !b->vcpu[vcpu].halted;
}

static bool paused(void *ctx)
{
	const struct qmp *b = ctx;
	return b->paused;
}

static void fill(void *ctx, unsigned vcpu, struct us_capture *c)
{
	struct qmp *b = ctx;
	const struct us_qmp_vcpu *v = &b->vcpu[vcpu];
	bool reset = v->regs.bits == 16 && v->regs.pc == 0xfffffff0;
	c->regs = v->regs;
	c->state = b->paused || reset ? US_VCPU_OFF
		   : v->halted	      ? US_VCPU_HALTED
				      : US_VCPU_GUEST;
	us_peer_ram_prepare(&b->remote.ram, &c->regs);
}

/* Sleep until a time; what the monitor says meanwhile is heard at once. */
static int sleep_until(void *ctx, uint64_t t_ns)
{
	struct qmp *b = ctx;
	for (;;) {
		int r = drain(b);
		if (r < 0 || us_now_ns() >= t_ns)
			return r;
		r = us_qmp_stream_poll(&b->stream, t_ns);
		if (r == -EINTR)
			return r;
	}
}

static unsigned late_vcpus(struct us_backend *base)
{
	struct qmp *b = (struct qmp *)base;
	const char *value;
	size_t len;
	if (b->remote.stop.broken || b->astray ||
	    ask(b, QUERY_VCPUS, us_now_ns() + SAMPLE_NS, &value, &len) < 0)
		return 0;
	unsigned n = us_qmp_n_vcpus(value, len);
	return n > base->n_vcpu ? n - base->n_vcpu : 0;
}

static const struct us_whole_stop_ops stop_ops = { .sleep = sleep_until,
						   .sample = sample,
						   .resume = resume,
						   .fill = fill,
						   .ran = ran,
						   .paused = paused };

static void describe(struct qmp *b)
{
	struct us_backend *base = &b->remote.base;
	base->arch = US_ARCH_X86_64;
	us_remote_describe(&b->remote, b->remote.guest.accel, &stop_ops);
	snprintf(base->how, sizeof(base->how), "QEMU's monitor%s, memory: %.100s",
		 b->paused ? ", the guest was paused at the start" : "",
		 us_peer_ram_how(&b->remote.ram));
}

static void qmp_close(struct us_backend *base)
{
	struct qmp *b = (struct qmp *)base;
	if (!b)
		return;
	if (b->remote.stop.held && !b->remote.stop.broken)
		(void)!end_hold(b);
	us_watchdog_stop(b->watchdog);
	us_vmm_threads_close(&b->threads);
	us_remote_close(&b->remote);
	us_qmp_close(b->client);
	free(b->stream.buf);
	free(b->text);
	free(b);
}

static int attach(struct qmp *b, const struct us_target *t, struct us_err *e)
{
	int r = us_qmp_open(t->qmp, &b->client, e);
	/* QEMU gets no CPU and greets late, or a client that is not seen holds it. */
	if (r == -EBUSY)
		r = us_qmp_open(t->qmp, &b->client, e);
	if (r == 0)
		r = ask_guest(b, t, e);
	if (r < 0)
		return r;
	us_peer_ram_open(&b->remote.ram, b->remote.guest.pid ? &b->remote.guest : NULL,
			 b->client, "by the monitor", read_by_monitor, b);
	r = make_buffers(b, e);
	if (r == 0)
		r = start_watchdog(b, e);
	return r < 0 ? r : try_ram(b, e);
}

static int qmp_open(const struct us_target *t, struct us_backend **ret,
		    struct us_err *e)
{
	if (!us_qmp_is_offered(t, e))
		return -ENODEV;
	struct qmp *b = calloc(1, sizeof(*b));
	if (!b)
		return us_fail(e, -ENOMEM, "attach to a monitor: out of memory");
	b->remote.base.ops = &us_backend_qmp;
	int r = attach(b, t, e);
	if (r < 0) {
		qmp_close(&b->remote.base);
		return us_wrap(e, "attach to the monitor %s", t->qmp), r;
	}
	describe(b);
	*ret = &b->remote.base;
	return 0;
}

static void qmp_explain(const struct us_backend *base, int code, struct us_err *e)
{
	const struct qmp *b = (const struct qmp *)base;
	us_fail(e, code, "%s: %s",
		code == -ESRCH ? "the guest behind the monitor has ended"
			       : "the connection to the monitor is lost",
		b->why ? b->why : "it does not answer");
}

const struct us_backend_ops us_backend_qmp = {
	.name = "qmp",
	.summary = "QEMU's monitor; stops the guest for 0.2 to 1 ms a sample",
	.probe = us_qmp_probe,
	.ready = us_host_may_trace, /* it reads the VMM's memory */
	.open = qmp_open,
	.start = us_remote_start,
	.close = qmp_close,
	.next = us_remote_next,
	.release = us_remote_release,
	.let_go = us_remote_let_go,
	.counts = us_remote_counts,
	.explain = qmp_explain,
	.gathers = us_remote_gathers,
	.late_vcpus = late_vcpus,
};
