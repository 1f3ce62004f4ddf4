/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The gdb backend on real QEMU, and against stubs that misbehave. */
#include "remote-tests.h"

#include "backend/gdb/detach.h"

#include <arpa/inet.h>

extern const struct us_backend_ops us_backend_gdb;

static void serve_stub(int fd, struct peer_page *page, int behaviour);

static const struct remote stub = {
	.ops = &us_backend_gdb,
	.how = "QEMU's stub",
	.by_peer = "by the stub",
	.refused = "test-backend-gd (pid ",
	.serve = serve_stub,
};

static struct us_target target_of(const char *path)
{
	return remote_target_of(&stub, path);
}

/* While a look holds the guest, its owner lets it go: it goes on, then and at the end.
 */
static void resumed_in_our_hands(void **state)
{
	(void)state;
	struct rig r;
	struct us_err e;
	struct us_schedule s = { .hz = 200, .seed = 1 };
	static struct us_capture c;
	if (!rig_start(&r, false, 1, false))
		skip();
	struct us_target t = target_of(r.gdb);
	for (int i = 0; i < 4; i++) {
		struct us_backend *b = open_backend(&us_backend_gdb, &t);
		assert_int_equal(b->ops->start(b, &s, &e), 0);
		for (int k = 0; k < 5; k++) {
			assert_int_equal(
				b->ops->next(b, us_now_ns() + 9 * US_NS_PER_SEC, &c),
				1);
			assert_int_equal(c.state, US_VCPU_GUEST);
			command(&r, "cont");
			if (k == 4 && i % 2)
				break; /* closed in mid look */
			b->ops->release(b, &c);
			assert_true(goes_on(&r));
		}
		us_backend_close(b);
		assert_true(goes_on(&r));
		expect_status(&r, "running");
	}
	rig_stop(&r);
}

/* Is a look of a guest that its owner has paused, whose memory is read next? */
static bool reads_while_resumed(struct rig *r, struct us_backend *b,
				struct us_capture *c)
{
	uint8_t code[64];
	do
		assert_int_equal(b->ops->next(b, us_now_ns() + 9 * US_NS_PER_SEC, c),
				 1);
	while (c->state != US_VCPU_OFF && (b->ops->release(b, c), true));
	us_mem_new_sample(b->mem);
	assert_true(us_mem_read_gva(b->mem, c->regs.pc, code, sizeof(code)));
	command(r, "cont");
	us_mem_new_sample(b->mem);
	return us_mem_read_gva(b->mem, c->regs.pc, code, sizeof(code));
}

/* QEMU takes what would read its memory through the stub for a request to stop, once
 * its owner has let it go.  So while a paused guest is looked at, its memory is asked
 * for, and it must go on. */
static void resumed_while_read(void **state)
{
	(void)state;
	struct rig r;
	struct us_err e;
	struct us_schedule s = { .hz = 200, .seed = 1 };
	static struct us_capture c;
	if (!rig_start(&r, false, 1, false))
		skip();
	struct us_target t = target_of(r.gdb);
	struct us_guest stranger = { .pid = 0 };
	t.guest = &stranger;
	struct us_backend *b = open_backend(&us_backend_gdb, &t);
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	for (int i = 0; i < 5; i++) {
		command(&r, "stop");
		assert_false(reads_while_resumed(&r, b, &c));
		b->ops->release(b, &c);
		assert_true(goes_on(&r));
	}
	us_backend_close(b);
	assert_true(goes_on(&r));
	expect_status(&r, "running");
	rig_stop(&r);
}

/* The first of them are sampled, and the others are named. */
static void says_which_vcpus_are_too_many(void **state)
{
	(void)state;
	struct rig r;
	unsigned states[US_N_VCPU_STATE];
	char said[64];
	if (!rig_start(&r, false, US_MAX_VCPUS + 6, false))
		skip();
	load_functions();
	struct us_target t = target_of(r.gdb);
	struct us_backend *b = open_backend(&us_backend_gdb, &t);
	assert_int_equal(b->n_vcpu, US_MAX_VCPUS);
	snprintf(said, sizeof(said),
		 "6 more vCPUs are not sampled: uniscope supports %d", US_MAX_VCPUS);
	assert_non_null(strstr(b->caution, said));
	assert_int_equal(sample(b, 20, 2 * US_MAX_VCPUS, states), 0);
	us_backend_close(b);
	assert_true(goes_on(&r));
	rig_stop(&r);
}

/* A debugger that attaches, and is gone again 200 ms after this returns. */
static pid_t another_debugger(const struct rig *r)
{
	int fd = us_socket_connect(r->gdb, 2000, NULL);
	assert_true(fd >= 0);
	char stopped;
	assert_int_equal(read(fd, &stopped, 1),
			 1); /* QEMU says so: it holds the guest */
	pid_t pid = fork();
	if (!pid) {
		usleep(200000);
		_exit(write(fd, "+$D#44", 6) != 6);
	}
	close(fd);
	return pid;
}

/* What it holds as we come is not paused by its owner, whatever the monitor says. */
static void another_debugger_leaves(void **state)
{
	(void)state;
	struct rig r;
	int status;
	if (!rig_start(&r, false, 1, false))
		skip();
	struct us_target t = target_of(r.gdb);
	snprintf(t.qmp, sizeof(t.qmp), "%s", r.qemu.qmp);
	pid_t pid = another_debugger(&r);
	assert_true(pid > 0);
	struct us_backend *b = open_backend(&us_backend_gdb, &t);
	us_backend_close(b);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(goes_on(&r));
	expect_status(&r, "running");
	rig_stop(&r);
}

static void speaks_tcp(void **state)
{
	(void)state;
	struct rig r;
	struct us_err e;
	char line[128], text[256];
	struct us_qmp *q;
	unsigned states[US_N_VCPU_STATE];
	if (!rig_start(&r, false, 1, false))
		skip();
	load_functions();
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	close(fd);
	/* A stub made at run time, as the hint says; QEMU has one at a time. */
	assert_int_equal(us_qmp_open(r.qemu.qmp, &q, &e), 0);
	assert_int_equal(us_qmp_human(q, "gdbserver none", -1, text, sizeof(text), &e),
			 0);
	snprintf(line, sizeof(line), "gdbserver tcp:127.0.0.1:%u", ntohs(a.sin_port));
	assert_int_equal(us_qmp_human(q, line, -1, text, sizeof(text), &e), 0);
	us_qmp_close(q);
	snprintf(line, sizeof(line), "127.0.0.1:%u", ntohs(a.sin_port));
	struct us_target t = target_of(line);
	struct us_backend *b = open_backend(&us_backend_gdb, &t);
	assert_non_null(strstr(b->how, "process_vm_readv"));
	assert_int_equal(sample(b, 200, 50, states), 0);
	us_backend_close(b);
	assert_true(goes_on(&r));
	rig_stop(&r);
}

/* Invented stubs. */

enum behaviour {
	GOOD,	      /* one vCPU, no description, no threads, hangs up politely */
	HALTED,	      /* behind a HLT */
	PRINTS,	      /* sends what the target prints before it says that it stands */
	SILENT,	      /* takes everything, answers nothing */
	CLOSES,	      /* at the first packet */
	CLOSES_MID,   /* in the middle of the first reply */
	SSH,	      /* is something else */
	NAKS,	      /* wants everything again */
	BAD_SUMS,     /* all its packets are damaged */
	LIST_GARBAGE, /* vCPUs that are no numbers */
	S390X,	      /* another processor */
	NO_REGISTERS, /* a processor that it names, without its registers */
	SHORT_G,      /* registers that are too few */
	STALLS_G,     /* after three stops it never again sends registers */
	EXITS,	      /* the guest ends after three stops */
	CLOSES_LATER, /* hangs up after three stops */
	SPOILS_D,     /* runs again when the first detach comes, and stops for it */
	LATE_C,	      /* QEMU: away for a while, later resumed in our hands */
	LET_GO,	      /* QEMU: each byte behind a detach stops it again */
	SPOILS_G, /* QEMU, resumed in mid look: it stops at the question, unanswered */
};

struct stub {
	int fd;
	struct peer_page *page;
	int behaviour;
};

static void say(struct stub *s, const char *body)
{
	char out[4096];
	unsigned sum = s->behaviour == BAD_SUMS;
	for (const char *p = body; *p; p++)
		sum += (unsigned char)*p;
	snprintf(out, sizeof(out), "$%s#%02x", body, sum & 255);
	size_t n = s->behaviour == CLOSES_MID ? strlen(out) / 2 : strlen(out);
	if (send(s->fd, out, n, MSG_NOSIGNAL) < 0 || s->behaviour == CLOSES_MID)
		shutdown(s->fd, SHUT_RDWR);
}

/* Classical x86-64 registers: pc 0x1000, rsp and rbp 0x2000. */
static void say_registers(struct stub *s)
{
	char hex[560 * 2 + 1];
	memset(hex, '0', sizeof(hex) - 1);
	hex[sizeof(hex) - 1] = '\0';
	memcpy(hex + 48 * 2, "0020", 4);
	memcpy(hex + 56 * 2, "0020", 4);
	memcpy(hex + 128 * 2, "0010", 4);
	if (s->behaviour == SHORT_G)
		hex[40] = '\0';
	bool stalls = s->behaviour == STALLS_G && atomic_load(&s->page->stops) > 3;
	if (!stalls)
		say(s, hex);
}

static void say_memory(struct stub *s, const char *args)
{
	unsigned long at, len;
	char hex[2049] = "";
	if (sscanf(args, "%lx,%lx", &at, &len) != 2 || len > 1024) {
		say(s, "E01");
		return;
	}
	/* A frame at 0x2000: no caller's frame, return address 0x1111. STI and HLT
	 * before 0x1000. */
	for (unsigned long i = 0; i < len; i++) {
		unsigned byte = at + i == 0x2008 || at + i == 0x2009 ? 0x11 : 0;
		if (at + i == 0xfff && s->behaviour == HALTED)
			byte = 0xf4;
		if (at + i == 0xffe && s->behaviour == HALTED)
			byte = 0xfb;
		snprintf(hex + i * 2, 3, "%02x", byte);
	}
	say(s, hex);
}

static void answer(struct stub *s, const char *body)
{
	if (!strncmp(body, "qSupported", 10))
		say(s, s->behaviour == S390X || s->behaviour == NO_REGISTERS
			       ? "PacketSize=400;qXfer:features:read+"
		       : s->behaviour >= LATE_C ? "PacketSize=400"
						: "PacketSize=400;QStartNoAckMode+");
	else if (!strcmp(body, "qqemu.sstepbits") && s->behaviour >= LATE_C)
		say(s, "ENABLE=1");
	else if (!strncmp(body, "qXfer:features", 14))
		say(s,
		    s->behaviour == S390X
			    ? "l<target><architecture>s390:64-bit</architecture></"
			      "target>"
			    : "l<target><architecture>aarch64</architecture></target>");
	else if (!strcmp(body, "QStartNoAckMode"))
		say(s, "OK");
	else if (!strcmp(body, "?"))
		say(s, "S05");
	else if (!strcmp(body, "qfThreadInfo") && s->behaviour == LIST_GARBAGE)
		say(s, "m<script>");
	else if (!strcmp(body, "g"))
		say_registers(s);
	else if (body[0] == 'm')
		say_memory(s, body + 1);
	else if (!strcmp(body, "c")) {
		atomic_fetch_add(&s->page->conts, 1);
		atomic_store(&s->page->running, true);
	} else if (!strcmp(body, "qC")) {
		say(s, s->behaviour >= SPOILS_D ? "QC1" : "");
	} else if (body[0] == 'D') {
		unsigned n = atomic_fetch_add(&s->page->detaches, 1);
		if (n == 0 && s->behaviour == SPOILS_D) {
			say(s, "T02");
			return;
		}
		atomic_store(&s->page->running, true);
		say(s, "OK");
	} else {
		say(s, "");
	}
}

static void interrupted(struct stub *s)
{
	if (!atomic_exchange(&s->page->running, false))
		return;
	unsigned n = atomic_fetch_add(&s->page->stops, 1);
	if (n >= 3 && s->behaviour == EXITS)
		say(s, "W00");
	else if (n >= 3 && s->behaviour == CLOSES_LATER)
		shutdown(s->fd, SHUT_RDWR);
	else {
		if (s->behaviour == PRINTS) {
			say(s, "O68690a");
			say(s, "O21");
		}
		say(s, "S02");
	}
}

/* Of each fourth look the question, or once the packet that resumes. */
static bool is_spoilt(const struct stub *s, const char *body)
{
	if (s->behaviour == LATE_C && !strcmp(body, "c")) {
		unsigned n = atomic_load(&s->page->conts);
		usleep(n == 2 ? 100000 : 0);
		return n == 4 && !atomic_fetch_add(&s->page->spoilt, 1);
	}
	return s->behaviour == SPOILS_G && !strcmp(body, "g") &&
	       atomic_load(&s->page->stops) % 4 == 3;
}

/* A whole packet is in p->body. */
static void heard(struct stub *s, const char *body)
{
	switch (s->behaviour) {
	case SILENT:
	case SSH:
		return;
	case CLOSES:
		shutdown(s->fd, SHUT_RDWR);
		return;
	case NAKS:
		send(s->fd, "-", 1, MSG_NOSIGNAL);
		return;
	default:
		if (is_spoilt(s, body)) {
			say(s, "T02");
			return;
		}
		send(s->fd, "+", 1, MSG_NOSIGNAL);
		answer(s, body);
	}
}

static void serve_stub(int fd, struct peer_page *page, int behaviour)
{
	struct stub s = { fd, page, behaviour };
	char body[512];
	size_t n = 0;
	int state = 0; /* 0: outside, 1: in a packet, 2, 3: its checksum */
	char c;
	/* Connecting stops the guest. */
	atomic_store(&page->running, false);
	if (behaviour == SSH)
		send(fd, "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n", 40,
		     MSG_NOSIGNAL);
	while (recv(fd, &c, 1, 0) == 1) {
		if (behaviour == LET_GO && atomic_load(&page->detaches)) {
			atomic_fetch_add(&page->spoilt, 1);
			atomic_store(&page->running, false);
			continue;
		}
		if (state == 0 && c == '\x03')
			interrupted(&s);
		else if (state == 0 && c == '$')
			state = 1, n = 0;
		else if (state == 1 && c == '#')
			state = 2;
		else if (state == 1 && n < sizeof(body) - 1)
			body[n++] = c;
		else if (state == 2)
			state = 3;
		else if (state == 3) {
			state = 0;
			body[n] = '\0';
			heard(&s, body);
		}
	}
}

static void foreign_stub_is_understood(void **state)
{
	(void)state;
	for (int behaviour = GOOD; behaviour <= PRINTS; behaviour++) {
		struct peer p;
		static struct us_capture c;
		struct us_err e;
		struct us_schedule s = { .hz = 1000, .seed = 1 };
		peer_start(&p, serve_stub, behaviour);
		struct us_target t = target_of(p.path);
		struct us_backend *b = open_backend(&us_backend_gdb, &t);
		assert_string_equal(b->how, "GDB stub, no acks, memory: by the stub");
		assert_int_equal(b->ops->start(b, &s, &e), 0);
		for (int i = 0; i < 20; i++) {
			us_gva pc[4];
			assert_int_equal(
				b->ops->next(b, us_now_ns() + 5 * US_NS_PER_SEC, &c),
				1);
			assert_false(atomic_load(&p.page->running));
			assert_int_equal(c.state, behaviour == HALTED ? US_VCPU_HALTED
								      : US_VCPU_GUEST);
			assert_int_equal(c.regs.pc, 0x1000);
			assert_int_equal(c.regs.fp, 0x2000);
			assert_int_equal(callers(b, &c.regs, pc, 4), 1);
			assert_int_equal(pc[0], 0x1111);
			b->ops->release(b, &c);
		}
		us_backend_close(b);
		assert_true(peer_runs(&p));
		assert_true(atomic_load(&p.page->detaches) > 0);
		peer_stop(&p);
	}
}

/* As QEMU's does if its guest was resumed between our request to stop and the detach.
 */
static void a_spoilt_detach_is_made_again(void **state)
{
	(void)state;
	struct peer p;
	struct us_gdb g;
	struct us_gdb_shared shared = { .detach = "D" };
	struct us_err e;
	peer_start(&p, serve_stub, SPOILS_D);
	int fd = us_socket_connect(p.path, 2000, &e);
	assert_true(fd >= 0);
	us_gdb_init(&g, fd);
	g.no_ack = true;
	atomic_store(&shared.qemu, true);
	assert_true(us_gdb_let_go(&g, &shared, 5 * US_NS_PER_SEC));
	assert_int_equal(atomic_load(&p.page->detaches), 2);
	assert_true(peer_runs(&p));
	us_gdb_fini(&g);
	peer_stop(&p);
}

/* The look fails, and the recording goes on. */
static void a_spoilt_look_is_counted(void **state)
{
	(void)state;
	struct peer p;
	static struct us_capture c;
	struct us_backend_counts counts;
	struct us_err e;
	struct us_schedule s = { .hz = 1000, .seed = 1 };
	peer_start(&p, serve_stub, SPOILS_G);
	struct us_target t = target_of(p.path);
	struct us_backend *b = open_backend(&us_backend_gdb, &t);
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(b->ops->next(b, us_now_ns() + 5 * US_NS_PER_SEC, &c),
				 1);
		assert_int_equal(c.regs.pc, 0x1000);
		b->ops->release(b, &c);
	}
	b->ops->counts(b, &counts);
	assert_in_range(counts.failed, 5, 8);
	us_backend_close(b);
	assert_true(peer_runs(&p));
	peer_stop(&p);
}

/* An acknowledgement that came late once is still waited for: what comes in its place
 * says that the guest was not let go. */
static void a_spoilt_resume_is_made_again(void **state)
{
	(void)state;
	struct peer p;
	static struct us_capture c;
	struct us_err e;
	struct us_schedule s = { .hz = 1000, .seed = 1 };
	peer_start(&p, serve_stub, LATE_C);
	struct us_target t = target_of(p.path);
	struct us_backend *b = open_backend(&us_backend_gdb, &t);
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(b->ops->next(b, us_now_ns() + 5 * US_NS_PER_SEC, &c),
				 1);
		assert_int_equal(c.state, US_VCPU_GUEST);
		b->ops->release(b, &c);
		assert_true(peer_runs(&p));
	}
	assert_int_equal(atomic_load(&p.page->spoilt), 2); /* and once more */
	us_backend_close(b);
	assert_true(peer_runs(&p));
	peer_stop(&p);
}

/* Held up in the middle of a look for longer than its watchdog waits, the sampler says
 * no word to the guest that was let go meanwhile. */
static void says_nothing_after_its_watchdog(void **state)
{
	(void)state;
	struct peer p;
	static struct us_capture c;
	struct us_err e;
	struct us_schedule s = { .hz = 1000, .seed = 1 };
	struct us_entered entered;
	uint64_t word;
	peer_start(&p, serve_stub, LET_GO);
	struct us_target t = target_of(p.path);
	struct us_backend *b = open_backend(&us_backend_gdb, &t);
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	assert_int_equal(b->ops->next(b, us_now_ns() + 5 * US_NS_PER_SEC, &c), 1);
	assert_true(us_mem_read_gva(b->mem, 0x2008, &word, sizeof(word)));
	for (int i = 0; i < 3000 && !atomic_load(&p.page->detaches); i++)
		usleep(10000);
	assert_true(peer_runs(&p));
	bool got = us_mem_read_gva(b->mem, 0x3000, &word, sizeof(word)) ||
		   b->mem->read_entered(b->mem->ctx, &entered);
	b->ops->release(b, &c);
	int r = b->ops->next(b, us_now_ns() + US_NS_PER_SEC, &c);
	b->ops->explain(b, r, &e);
	us_backend_close(b);
	for (int i = 0; i < 3000 && !atomic_load(&p.page->served); i++)
		usleep(10000);
	assert_int_equal(atomic_load(&p.page->served), 1);
	assert_int_equal(atomic_load(&p.page->spoilt), 0);
	assert_true(peer_runs(&p));
	assert_false(got);
	assert_int_equal(r, -ECONNRESET);
	assert_non_null(strstr(e.msg, "watchdog"));
	peer_stop(&p);
}

static void strange_stubs_are_refused(void **state)
{
	(void)state;
	static const int cases[] = { SILENT,	   CLOSES,   CLOSES_MID,   SSH,
				     NAKS,	   BAD_SUMS, LIST_GARBAGE, S390X,
				     NO_REGISTERS, SHORT_G };
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct peer p;
		struct us_backend *b = NULL;
		struct us_err e = { 0 };
		peer_start(&p, serve_stub, cases[i]);
		struct us_target t = target_of(p.path);
		int r = us_backend_gdb.open(&t, &b, &e);
		assert_true(r < 0);
		assert_null(b);
		printf("# %d: %s\n", cases[i], e.msg);
		assert_non_null(strstr(e.msg, "attach to the GDB stub /tmp/us-peer"));
		/* A stub that understands us has let its guest go. */
		if (cases[i] >= LIST_GARBAGE)
			assert_true(peer_runs(&p));
		peer_stop(&p);
	}
}

static void stubs_fail_later(void **state)
{
	(void)state;
	for (int behaviour = STALLS_G; behaviour <= CLOSES_LATER; behaviour++) {
		struct peer p;
		static struct us_capture c;
		struct us_err e = { 0 };
		struct us_schedule s = { .hz = 1000, .seed = 1 };
		peer_start(&p, serve_stub, behaviour);
		static const struct us_guest of_libvirt = { .libvirt = true };
		struct us_target t = target_of(p.path);
		t.guest = &of_libvirt;
		struct us_backend *b = open_backend(&us_backend_gdb, &t);
		assert_non_null(strstr(b->hazard, "a virsh suspend"));
		assert_int_equal(b->ops->start(b, &s, &e), 0);
		int r = 1;
		for (int i = 0; r == 1 && i < 20; i++) {
			r = b->ops->next(b, us_now_ns() + 10 * US_NS_PER_SEC, &c);
			if (r == 1)
				b->ops->release(b, &c);
		}
		assert_int_equal(r, behaviour == EXITS ? -ESRCH : -ECONNRESET);
		b->ops->explain(b, r, &e);
		printf("# %d: %s\n", behaviour, e.msg);
		assert_true(e.msg[0]);
		if (behaviour == STALLS_G)
			assert_true(peer_runs(&p));
		us_backend_close(b);
		peer_stop(&p);
	}
}

static void probe_says_why_not(void **state)
{
	(void)state;
	struct us_target t = { 0 };
	struct us_err why = { 0 };
	assert_int_equal(us_backend_gdb.probe(&t, &why), 0);
	assert_non_null(strstr(why.hint, "in QEMU's monitor: gdbserver tcp:"));
	struct us_guest *g = calloc(1, sizeof(*g));
	assert_non_null(g);
	t.guest = g;
	strcpy(g->vmm, "boxlite-shim");
	assert_int_equal(us_backend_gdb.probe(&t, &why), 0);
	assert_null(strstr(why.hint, "monitor"));
	assert_non_null(strstr(why.hint, "gdb:PATH"));
	strcpy(g->vmm, "firecracker");
	strcpy(t.gdb, "127.0.0.1:1");
	assert_int_equal(us_backend_gdb.probe(&t, &why), 0);
	assert_non_null(strstr(why.msg, "ends the guest when a debugger detaches"));
	t.gdb[0] = '\0';
	strcpy(g->vmm, "qemu");
	g->libvirt = true;
	for (unsigned i = 0; i < 2; i++) {
		strcpy(g->name, i ? "a;b" : "web-1");
		assert_int_equal(us_backend_gdb.probe(&t, &why), 0);
		assert_non_null(
			strstr(why.hint, i ? "virsh qemu-monitor-command DOMAIN --hmp "
					     "gdbserver tcp:"
					   : "virsh qemu-monitor-command web-1 --hmp "
					     "gdbserver tcp:"));
	}
	free(g);
	t = target_of("/tmp/us-there-is-no-such-socket");
	assert_int_equal(us_backend_gdb.probe(&t, &why), 0);
	assert_non_null(strstr(why.msg, "/tmp/us-there-is-no-such-socket"));
	struct us_backend *b = NULL;
	t = target_of("127.0.0.1:1");
	assert_int_equal(us_backend_gdb.probe(&t, &why), 1);
	assert_int_equal(us_backend_gdb.open(&t, &b, &why), -ECONNREFUSED);
	assert_null(b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(probe_says_why_not),
		cmocka_unit_test(foreign_stub_is_understood),
		cmocka_unit_test(a_spoilt_detach_is_made_again),
		cmocka_unit_test(a_spoilt_look_is_counted),
		cmocka_unit_test(a_spoilt_resume_is_made_again),
		cmocka_unit_test(says_nothing_after_its_watchdog),
		cmocka_unit_test(strange_stubs_are_refused),
		cmocka_unit_test(stubs_fail_later),
		REMOTE_TESTS(&stub),
		REMOTE_TEST(samples_kvm, &stub),
		cmocka_unit_test(resumed_in_our_hands),
		cmocka_unit_test(resumed_while_read),
		cmocka_unit_test(says_which_vcpus_are_too_many),
		cmocka_unit_test(another_debugger_leaves),
		cmocka_unit_test(speaks_tcp),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
