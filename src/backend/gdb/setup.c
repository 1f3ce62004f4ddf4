/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gdb/setup.c: attach to a stub; see gdb/session.h. */
#include "backend/gdb/detach.h"

#include "backend/backend.h"
#include "backend/gdb/machine.h"
#include "backend/qmp/reply.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rights.h"
#include "vmm/socket.h"
#include "vmm/socket_peer.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define OPEN_NS		    (4500 * US_NS_PER_MS)
#define REST_NS		    (2500 * US_NS_PER_MS) /* after the first answer */
#define SLICE_NS	    (1 * US_NS_PER_SEC)
#define LEAVE_NS	    (500 * US_NS_PER_MS)
#define NOTICE_NS	    (3 * US_NS_PER_SEC)
#define CONNECT_MS	    2000
#define HOLD_LIMIT_MS	    3000 /* a sample may take 2.5 s */
#define MAX_DOCUMENT	    (256u << 10)
#define DEFAULT_PACKET_SIZE 400	  /* if the stub states none; GDB's own default */
#define HOST_THREADS_TEXT   32768 /* of `info cpus`: 30 bytes a vCPU in QEMU 7.2 */

/* A socket may be another user's, and in another mount namespace (/proc/PID/root). */
#define TO_CONNECT                                                                     \
	(US_RIGHT(CAP_DAC_OVERRIDE) | US_RIGHT(CAP_DAC_READ_SEARCH) |                  \
	 US_RIGHT(CAP_SYS_PTRACE))

/* In the watchdog's process: uses the connection that the backend had. */
static void rescue(void *ctx, bool held)
{
	struct us_gdb_session *s = ctx;
	if (!held)
		return;
	us_gdb_init(&s->client, s->client.fd);
	s->client.no_ack = atomic_load(&s->shared->no_ack);
	us_gdb_rescue(&s->client, s->shared);
}

/*
 * The same if uniscope died while it connected, before there was a connection.  The
 * stub may have to notice first that its peer is gone.  This connection must stay open
 * until the stub has accepted it and resumed the guest: a closed one that the stub
 * accepts later would stop the guest.
 */
static void rescue_anew(void *ctx, bool held)
{
	struct us_gdb_session *s = ctx;
	int fd = -1;
	if (!held || atomic_load(&s->shared->watched))
		return;
	for (unsigned i = 0; i < 100 && fd < 0; i++) {
		fd = us_socket_connect(s->endpoint, 300, NULL);
		if (fd < 0)
			usleep(20000);
	}
	if (fd < 0)
		return;
	us_gdb_init(&s->client, fd);
	us_gdb_rescue(&s->client, s->shared);
}

static int fail_taken(const char *endpoint, struct us_err *e)
{
	char who[160];
	us_fail(e, -EBUSY, "attach to the GDB stub %s: %s has it", endpoint,
		us_socket_name_client(endpoint, "another debugger", who, sizeof(who)));
	us_hint(e, "detach that debugger, or use another --backend");
	return -EBUSY;
}

/*
 * A stub serves one debugger.  A second connection would wait in its queue, and would
 * stop the guest after the first debugger and we have left.  So do not even try.  But
 * wait a little: a debugger may be about to leave, and if the kernel does not say
 * whether it has left, a busy stub needs time to notice.
 */
int us_gdb_wait_free(const char *endpoint, struct us_err *e)
{
	uint64_t start_ns = us_now_ns();
	for (;;) {
		enum us_socket_client client = us_socket_find_client(endpoint, NULL);
		if (client == US_SOCKET_FREE)
			return 0;
		uint64_t patience_ns = client == US_SOCKET_TAKEN ? LEAVE_NS : NOTICE_NS;
		if (us_now_ns() - start_ns >= patience_ns)
			return fail_taken(endpoint, e);
		usleep(20000);
	}
}

static int watch(struct us_gdb_session *s, void (*resume)(void *, bool), int fd,
		 unsigned limit_ms, struct us_watchdog **ret, struct us_err *e)
{
	struct us_watchdog_opts o = { .resume = resume,
				      .ctx = s,
				      .limit_ms = limit_ms,
				      .keep = &fd,
				      .n_keep = fd >= 0,
				      .rights = fd >= 0 ? 0 : TO_CONNECT };
	int r = us_watchdog_start(&o, ret, e);
	if (r == 0)
		us_watchdog_hold(*ret);
	return r;
}

static void unwatch(struct us_watchdog *w)
{
	us_watchdog_release(w);
	us_watchdog_stop(w);
}

/* Connect.  From the first moment on, a watchdog is there to resume the guest. */
static int dial(struct us_gdb_session *s, struct us_err *e)
{
	struct us_watchdog *guard;
	us_gdb_arrival_begin(&s->arrival);
	int r = us_gdb_wait_free(s->endpoint, e);
	if (r == 0)
		r = watch(s, rescue_anew, -1, 0, &guard, e);
	if (r < 0)
		return r;
	int fd = us_socket_connect(s->endpoint, CONNECT_MS, e);
	if (fd >= 0) {
		us_gdb_init(&s->client, fd);
		r = watch(s, rescue, fd, HOLD_LIMIT_MS, &s->watchdog, e);
		s->client.watchdog = s->watchdog;
	}
	if (fd >= 0 && r < 0)
		us_gdb_let_go(&s->client, s->shared, US_GDB_PATIENCE_NS);
	s->detached = r < 0;
	atomic_store(&s->shared->watched, true);
	unwatch(guard);
	return fd < 0 ? fd : r;
}

static int ask(struct us_gdb_session *s, const char *body, uint64_t deadline_ns,
	       struct us_err *e)
{
	return us_gdb_ask_explain(&s->client, body, deadline_ns, e);
}

/*
 * QEMU does not answer before it has stopped the guest and flushed its disks, which
 * takes seconds on a busy disk.  That may be longer than the watchdog's limit, so
 * extend the limit.  If the watchdog used this connection, too, each would get a part
 * of the answers, and a question after its detach would stop the guest again.
 */
static int get_first(struct us_gdb_session *s, uint64_t deadline_ns)
{
	int r;
	do {
		uint64_t slice_ns = us_now_ns() + SLICE_NS;
		r = us_gdb_get(&s->client,
			       slice_ns < deadline_ns ? slice_ns : deadline_ns);
	} while (r == -ETIMEDOUT && us_now_ns() < deadline_ns &&
		 us_watchdog_renew(s->watchdog));
	return r;
}

/* The first command.  A stop reply before its answer means that the guest ran. */
static int ask_features(struct us_gdb_session *s, bool *ran, uint64_t deadline_ns,
			struct us_err *e)
{
	struct us_gdb *g = &s->client;
	int r = us_gdb_put(g, "qSupported:xmlRegisters=i386,arm,riscv;vContSupported+");
	if (r == 0)
		r = us_gdb_flush(g, us_now_ns() + SLICE_NS);
	if (r == 0)
		r = get_first(s, deadline_ns);
	for (unsigned i = 0; r == 0 && i < 8; i++) {
		enum us_gdb_stop stop = us_gdb_stop_kind(g->parser.body, g->parser.len);
		if (stop == US_GDB_GONE)
			return us_fail(e, -ESRCH, "the guest has exited");
		if (stop == US_GDB_NOT_STOP)
			return 0;
		*ran = true;
		r = get_first(s, deadline_ns);
	}
	return us_fail(e, r ? r : -EPROTO, "ask the stub for its features: %s",
		       r ? g->why : "it sends nothing but stop replies");
}

static void read_features(struct us_gdb_session *s, bool *xml, bool *no_ack)
{
	const char *text = s->client.parser.body;
	const char *size = strstr(text, "PacketSize=");
	unsigned long n = size ? strtoul(size + 11, NULL, 16) : DEFAULT_PACKET_SIZE;
	s->packet_size = n < 64 ? 64 : n > 4096 ? 4096 : n;
	*xml = strstr(text, "qXfer:features:read+") != NULL;
	*no_ack = strstr(text, "QStartNoAckMode+") != NULL;
}

/* Which threads run the vCPUs?  QEMU gives them names only if it was started so. */
static void ask_host_threads(struct us_gdb_session *s, uint64_t deadline_ns)
{
	_cleanup_free_ char *text = calloc(1, HOST_THREADS_TEXT);
	if (!s->qemu || !text ||
	    us_gdb_ask_monitor(&s->client, "info cpus", text, HOST_THREADS_TEXT,
			       deadline_ns) < 0)
		return;
	for (const char *p = strstr(text, "CPU #"); p; p = strstr(p + 1, "CPU #")) {
		unsigned vcpu;
		int tid;
		if (sscanf(p, "CPU #%u: thread_id=%d", &vcpu, &tid) == 2 &&
		    vcpu < US_MAX_VCPUS && tid > 0)
			s->tid[vcpu] = tid;
	}
}

/* By the threads of the vCPUs, which the stub has named. */
static bool threads_slept(struct us_gdb_session *s)
{
	enum us_gdb_ran ran = us_gdb_arrival_tell(&s->arrival, s->tid);
	s->unsure = ran == US_GDB_RAN_UNKNOWN;
	s->slept = ran == US_GDB_DID_NOT_RUN;
	return s->slept;
}

/*
 * Was the guest paused before we came?  Up to 8.0 QEMU sends a stop reply if it ran,
 * later versions do not.  But they all give a reason for a stop that is not ours:
 * "paused (prelaunch)".
 */
static bool was_paused(struct us_gdb_session *s, uint64_t deadline_ns)
{
	char text[128];
	unsigned major = 0, minor = 0;
	if (!s->qemu)
		return false;
	if (us_gdb_ask_monitor(&s->client, "info version", text, sizeof(text),
			       deadline_ns) == 0 &&
	    sscanf(text, "%u.%u", &major, &minor) == 2 &&
	    (major < 8 || (major == 8 && !minor)))
		return true;
	if (us_gdb_ask_monitor(&s->client, "info status", text, sizeof(text),
			       deadline_ns) == 0 &&
	    strstr(text, "paused ("))
		return true;
	return threads_slept(s);
}

/* What the stub shows of an encrypted guest is not what is in it.  The command line of
 * one on this host has told that already. */
static int refuse_protected(struct us_gdb_session *s, uint64_t deadline_ns,
			    struct us_err *e)
{
	char text[512];
	if (!s->kvm || s->arrival.vmm ||
	    us_gdb_ask_monitor(&s->client, "info sev", text, sizeof(text),
			       deadline_ns) < 0)
		return 0;
	return us_backend_check_protection(us_qemu_says_sev(text), e);
}

static int ask_nature(struct us_gdb_session *s, enum us_gdb_before before, bool ran,
		      uint64_t deadline_ns, struct us_err *e)
{
	struct us_gdb *g = &s->client;
	int r = ask(s, "qqemu.sstepbits", deadline_ns, e);
	if (r < 0)
		return r;
	s->qemu = !strncmp(g->parser.body, "ENABLE=", 7);
	g->acks = s->qemu;
	atomic_store(&s->shared->qemu, s->qemu);
	if (s->qemu)
		atomic_store(&s->shared->no_ack, true);
	ask_host_threads(s, deadline_ns);
	bool paused = before == US_GDB_PAUSED_BEFORE && !ran;
	if (before == US_GDB_UNKNOWN_BEFORE && !ran)
		paused = was_paused(s, deadline_ns);
	us_gdb_set_run(s, paused ? US_GDB_PAUSED : US_GDB_HELD);
	char text[128] = "";
	if (s->qemu && !us_gdb_ask_monitor(&s->client, "info kvm", text, sizeof(text),
					   deadline_ns)) {
		s->kvm = strstr(text, "enabled") != NULL;
		s->tcg = strstr(text, "disabled") != NULL;
	}
	s->resume = "c";
	if (s->qemu)
		return refuse_protected(s, deadline_ns, e);
	r = ask(s, "?", deadline_ns, e);
	if (r == 0 && us_gdb_stop_kind(g->parser.body, g->parser.len) == US_GDB_GONE)
		return us_fail(e, -ESRCH, "the guest has exited");
	if (r == 0)
		r = ask(s, "vCont?", deadline_ns, e);
	if (r == 0 && strstr(g->parser.body, ";c"))
		s->resume = "vCont;c";
	return r;
}

/* Add the comma-separated thread ids of one reply. */
static int add_threads(struct us_gdb_session *s, struct us_err *e)
{
	static const char legal[] = "0123456789abcdefABCDEFp.";
	const char *p = s->client.parser.body + 1;
	while (*p) {
		size_t n = strspn(p, legal);
		if (!n || n >= sizeof(s->thread[0]) || (p[n] && p[n] != ','))
			return us_fail(e, -EPROTO,
				       "the stub's list of vCPUs is malformed");
		if (s->n_vcpu == US_MAX_VCPUS) {
			s->n_over++;
		} else {
			memcpy(s->thread[s->n_vcpu], p, n);
			s->thread[s->n_vcpu++][n] = '\0';
		}
		p += n + (p[n] == ',');
	}
	return 0;
}

static int ask_threads(struct us_gdb_session *s, uint64_t deadline_ns, struct us_err *e)
{
	struct us_gdb *g = &s->client;
	int r = ask(s, "qfThreadInfo", deadline_ns, e);
	for (unsigned i = 0; r == 0 && g->parser.body[0] == 'm' && i < US_GDB_MAX_LISTS;
	     i++) {
		r = add_threads(s, e);
		if (r == 0)
			r = ask(s, "qsThreadInfo", deadline_ns, e);
	}
	if (r < 0)
		return r;
	if (!s->n_vcpu) { /* a stub that knows no threads has one vCPU */
		s->n_vcpu = 1;
		return 0;
	}
	/* If the stub has ever talked to a multiprocess GDB, it names the process. */
	const char *id = s->thread[0];
	size_t n = id[0] == 'p' ? strcspn(id + 1, ".") : 0;
	if (n)
		snprintf(s->shared->detach, sizeof(s->shared->detach), "D;%.*s", (int)n,
			 id + 1);
	char text[64];
	snprintf(text, sizeof(text), "qThreadExtraInfo,%s", id);
	r = ask(s, text, deadline_ns, e);
	s->extra = r == 0 && g->parser.len && !us_gdb_said_error(g);
	return r;
}

/* QEMU's monitor knows all vCPUs, the stub's list those of one cluster. */
static void count_beyond(struct us_gdb_session *s)
{
	unsigned n = 0;
	for (unsigned i = 0; i < US_MAX_VCPUS; i++)
		n += s->tid[i] != 0;
	if (n > s->n_vcpu)
		s->n_beyond = n - s->n_vcpu;
}

struct transfer {
	struct us_gdb_session *s;
	uint64_t deadline_ns;
};

static int fetch_document(void *ctx, const char *name, char **ret, size_t *ret_len,
			  struct us_err *e)
{
	const struct transfer *t = ctx;
	const struct us_gdb *g = &t->s->client;
	_cleanup_free_ char *text = malloc(MAX_DOCUMENT + 1);
	if (!text)
		return us_fail(e, -ENOMEM, "out of memory");
	for (size_t n = 0;;) {
		char command[160];
		snprintf(command, sizeof(command), "qXfer:features:read:%.64s:%zx,%zx",
			 name, n, t->s->packet_size - 16);
		int r = ask(t->s, command, t->deadline_ns, e);
		if (r < 0)
			return r;
		char kind = g->parser.body[0];
		size_t len = g->parser.len;
		if ((kind != 'l' && kind != 'm') || (kind == 'm' && len == 1) ||
		    len - 1 > MAX_DOCUMENT - n)
			return us_fail(e, -EPROTO, "the stub does not send %.64s",
				       name);
		memcpy(text + n, g->parser.body + 1, len - 1);
		n += len - 1;
		text[n] = '\0';
		if (kind == 'm')
			continue;
		*ret_len = n;
		*ret = us_take(text);
		return 0;
	}
}

static int ask_layout(struct us_gdb_session *s, bool xml, uint64_t deadline_ns,
		      struct us_err *e)
{
	struct transfer t = { s, deadline_ns };
	struct us_gdb *g = &s->client;
	int r = xml ? us_gdb_layout_read(fetch_document, &t, &s->layout, e) : -ENODATA;
	if (r < 0 && r != -ENODATA)
		return r;
	bool classic = r == -ENODATA, wide = s->layout.wide;
	const struct us_gdb_machine *m = s->layout.machine;
	if (classic && m && m->arch != US_ARCH_X86_64)
		return us_fail(e, -ENOTSUP,
			       "the stub describes no registers of its %s processor",
			       us_arch_name(m->arch));
	r = ask(s, "g", deadline_ns, e);
	if (r < 0)
		return r;
	/* GDB's classical i386 packet has 308 bytes or slightly more. */
	if (classic)
		us_gdb_layout_classic(wide || g->parser.len > 2 * 400, &s->layout);
	struct us_regs regs;
	struct us_gdb_code code;
	r = us_gdb_decode(&s->layout, g->parser.body, g->parser.len, &regs, &code);
	return r < 0 ? us_fail(e, r,
			       "the stub's registers (%zu bytes) match neither its "
			       "description nor an x86 processor",
			       g->parser.len / 2)
		     : 0;
}

static int handshake(struct us_gdb_session *s, enum us_gdb_before before,
		     struct us_err *e)
{
	uint64_t deadline_ns = us_now_ns() + OPEN_NS;
	bool ran = false, xml, no_ack;
	int r = ask_features(s, &ran, deadline_ns, e);
	us_gdb_arrival_end(&s->arrival);
	if (r < 0)
		return r;
	/* From here on, attaching ends within the watchdog's limit. */
	if (!us_watchdog_renew(s->watchdog))
		return us_fail(e, -ECONNRESET, "the watchdog had to resume the guest");
	deadline_ns = us_now_ns() + REST_NS;
	read_features(s, &xml, &no_ack);
	if (no_ack) {
		r = ask(s, "QStartNoAckMode", deadline_ns, e);
		s->client.no_ack = r == 0 && us_gdb_said(&s->client, "OK");
		atomic_store(&s->shared->no_ack, s->client.no_ack);
	}
	if (r == 0)
		r = ask_nature(s, before, ran, deadline_ns, e);
	if (r == 0)
		r = ask_threads(s, deadline_ns, e);
	count_beyond(s);
	if (r == 0)
		r = ask_layout(s, xml, deadline_ns, e);
	if (r == 0 && s->qemu)
		r = us_gdb_codes_init(&s->codes, s->n_vcpu, e);
	return r;
}

static int attach(struct us_gdb_session *s, enum us_gdb_before before, struct us_err *e)
{
	int r = dial(s, e);
	if (r < 0)
		return r;
	r = handshake(s, before, e);
	if (r == -ETIMEDOUT)
		us_hint(e,
			"a stub serves one debugger at a time: is another attached?");
	if (r == 0 && us_gdb_session_resume(s) < 0)
		r = us_fail(e, -EIO, "resuming the guest: %s", s->client.why);
	if (r == -ETIMEDOUT)
		us_gdb_session_leave(s);
	else if (r < 0)
		us_gdb_session_let_go(s);
	return r;
}

int us_gdb_session_open(const char *endpoint, enum us_gdb_before before, pid_t vmm,
			struct us_gdb_session **ret, struct us_err *e)
{
	struct us_gdb_session *s = calloc(1, sizeof(*s));
	if (!s)
		return us_fail(e, -ENOMEM, "attach to a stub: out of memory");
	s->client.fd = -1;
	s->arrival.vmm = vmm;
	s->selected = US_MAX_VCPUS;
	snprintf(s->endpoint, sizeof(s->endpoint), "%s", endpoint);
	s->shared = mmap(NULL, sizeof(*s->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int r = 0;
	if (s->shared == MAP_FAILED) {
		s->shared = NULL;
		r = us_fail(e, -errno, "no shared page: %s", strerror(errno));
	} else {
		atomic_store(&s->shared->paused, before == US_GDB_PAUSED_BEFORE);
		r = attach(s, before, e);
		us_gdb_arrival_fini(&s->arrival);
	}
	if (r < 0) {
		us_gdb_session_close(s);
		return us_wrap(e, "attach to the GDB stub %s", endpoint), r;
	}
	*ret = s;
	return 0;
}

void us_gdb_session_close(struct us_gdb_session *s)
{
	if (!s)
		return;
	/* QEMU leaves a running guest alone when a debugger disconnects; other stubs
	 * may not. */
	bool plain = s->detached || s->client.fd < 0 ||
		     (s->qemu && s->run != US_GDB_HELD);
	if (!plain && s->watchdog && !us_watchdog_fired(s->watchdog))
		us_gdb_session_let_go(s);
	us_gdb_fini(&s->client);
	us_vmm_threads_close(&s->threads);
	us_gdb_codes_fini(&s->codes);
	if (s->watchdog)
		unwatch(s->watchdog);
	if (s->shared)
		munmap(s->shared, sizeof(*s->shared));
	free(s);
}
