/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The qmp backend on real QEMU, and against monitors that misbehave. */
#include "remote-tests.h"

#include "backend/qmp/reply.h"

extern const struct us_backend_ops us_backend_qmp;

static void serve_monitor(int fd, struct peer_page *page, int behaviour);

static const struct remote monitor = {
	.ops = &us_backend_qmp,
	.is_monitor = true,
	.how = "",
	.by_peer = "by the monitor",
	.refused = "attach to the monitor",
	.serve = serve_monitor,
};

static struct us_target target_of(const char *path)
{
	return remote_target_of(&monitor, path);
}

/* Replies. */

static void messages_are_told_apart(void **state)
{
	(void)state;
	static const struct {
		const char *msg;
		enum us_qmp_kind kind;
		const char *value;
	} cases[] = {
		{ "{\"return\": {}}", US_QMP_RETURN, "{}" },
		{ "{\"id\": {\"return\": [1]}, \"return\": \"x}\\\"\"}", US_QMP_RETURN,
		  "\"x}\\\"\"" },
		{ "{\"timestamp\": {\"seconds\": 1}, \"event\": \"STOP\"}",
		  US_QMP_EVENT, "\"STOP\"" },
		{ "{\"error\": {\"class\": \"x\"}}", US_QMP_ERROR,
		  "{\"class\": \"x\"}" },
		{ "{\"other\": 1}", US_QMP_STRANGE, NULL },
		{ "{}", US_QMP_STRANGE, NULL },
		{ "{\"return\"}", US_QMP_STRANGE, NULL },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *value = NULL, *msg = cases[i].msg;
		size_t len = 0;
		assert_int_equal(us_qmp_scan(msg, strlen(msg), &value, &len),
				 cases[i].kind);
		if (!cases[i].value)
			continue;
		assert_int_equal(len, strlen(cases[i].value));
		assert_memory_equal(value, cases[i].value, len);
	}
}

static void strings_are_unquoted(void **state)
{
	(void)state;
	char out[16];
	const char *s = "\"a\\r\\n\\\"\\u0041\\u20ac\\\\\"";
	assert_int_equal(us_qmp_unquote(s, strlen(s), out, sizeof(out)), 7);
	assert_string_equal(out, "a\r\n\"A?\\");
	assert_int_equal(us_qmp_unquote("\"abc", 4, out, sizeof(out)), -EPROTO);
	assert_int_equal(us_qmp_unquote("{}", 2, out, sizeof(out)), -EPROTO);
	assert_int_equal(us_qmp_unquote("\"abcdef\"", 8, out, 4), 3);
	assert_string_equal(out, "abc");
}

static const char long_mode[] =
	"\r\nCPU#0\r\nRAX=7a7d7b0cbb0ab4f2 RBX=ffffffff80105020 RCX=000000000007a652 "
	"RDX=000000000000cd59\r\nRSI=0000000000014663 RDI=0000000000014663 "
	"RBP=ffff80000000ffb0 RSP=ffff80000000ffa8\r\nR8 =ffffffff80105020 R9 "
	"=ffffffff8016b024 R10=cccccccccccccccd R11=0000000000000000\r\n"
	"RIP=ffffffff80101020 RFL=00000016 [----AP-] CPL=3 II=0 A20=1 SMM=0 HLT=0\r\n"
	"ES =0010 0000000000000000 ffffffff 00cf9300 DPL=0 DS   [-WA]\r\n"
	"CS =0018 0000000000000000 ffffffff 00af9b00 DPL=0 CS64 [-RA]\r\n"
	"SS =0010 0000000000000000 ffffffff 00cf9300 DPL=0 DS   [-WA]\r\n"
	"GDT=     0000000000100120 0000001f\r\n"
	"CR0=80010011 CR2=0000000000000000 CR3=0000000000106000 CR4=00000020\r\n"
	"EFER=0000000000000500\r\nXMM00=0000000000000000 0000000000000000\r\n";
static const char at_reset[] =
	"\r\nCPU#1\r\nEAX=00000000 EBX=00000000 ECX=00000000 EDX=00060fb1\r\n"
	"ESI=00000000 EDI=00000000 EBP=00000000 ESP=00000000\r\n"
	"EIP=0000fff0 EFL=00000002 [-------] CPL=0 II=0 A20=1 SMM=0 HLT=1\r\n"
	"CS =f000 ffff0000 0000ffff 00009b00\r\n"
	"SS =0000 00000000 0000ffff 00009300\r\n"
	"CR0=60000010 CR2=00000000 CR3=00000000 CR4=00000000\r\n"
	"EFER=0000000000000000\r\n";

static void registers_are_read(void **state)
{
	(void)state;
	char text[4096];
	struct us_qmp_vcpu v;
	snprintf(text, sizeof(text), "%s%s", long_mode, at_reset);
	const char *at = text;
	assert_int_equal(us_qmp_next_vcpu(&at, &v), 1);
	assert_int_equal(v.index, 0);
	assert_false(v.halted);
	assert_int_equal(v.regs.pc, 0xffffffff80101020);
	assert_int_equal(v.regs.sp, 0xffff80000000ffa8);
	assert_int_equal(v.regs.fp, 0xffff80000000ffb0);
	assert_int_equal(v.regs.gpr[US_X86_R8], 0xffffffff80105020);
	assert_int_equal(v.regs.gpr[US_X86_RDX], 0xcd59);
	assert_int_equal(v.regs.bits, 64);
	assert_true(v.regs.user);
	assert_int_equal(v.regs.space.mode, US_PAGING_X86_4);
	assert_int_equal(v.regs.space.root, 0x106000);
	assert_int_equal(us_qmp_next_vcpu(&at, &v), 1);
	assert_int_equal(v.index, 1);
	assert_true(v.halted);
	assert_int_equal(v.regs.pc, 0xfffffff0);
	assert_int_equal(v.regs.bits, 16);
	assert_int_equal(v.regs.space.mode, US_PAGING_OFF);
	assert_int_equal(us_qmp_next_vcpu(&at, &v), 0);
}

/* 32-bit code under long mode, whose stack's upper half means nothing; and 16-bit code
 * with segments. */
static void narrow_registers_are_read(void **state)
{
	(void)state;
	char text[2048];
	struct us_qmp_vcpu v;
	const char *at = text;
	strcpy(text, long_mode);
	memcpy(strstr(text, "00af9b00"), "00cf9b00", 8);
	assert_int_equal(us_qmp_next_vcpu(&at, &v), 1);
	assert_int_equal(v.regs.bits, 32);
	assert_int_equal(v.regs.pc, 0x80101020);
	assert_int_equal(v.regs.sp, 0xffa8);
	assert_int_equal(v.regs.space.mode, US_PAGING_X86_4);
	at = text;
	strcpy(text, at_reset);
	memcpy(strstr(text, "CS =f000 ffff0000"), "CS =1234 00012340", 17);
	memcpy(strstr(text, "SS =0000 00000000"), "SS =2000 00020000", 17);
	memcpy(strstr(text, "ESP=00000000"), "ESP=abcd1000", 12);
	assert_int_equal(us_qmp_next_vcpu(&at, &v), 1);
	assert_int_equal(v.regs.bits, 16);
	assert_int_equal(v.regs.pc, 0x12340 + 0xfff0);
	assert_int_equal(v.regs.sp, 0x21000);
}

/* Without any one of its lines, and with a number that is none, it is refused. */
static void damaged_registers_are_refused(void **state)
{
	(void)state;
	static const char *const needed[] = { "RIP=", "RSP=", "RBP=", "CR0=", "CR3=",
					      "CR4=", "CPL=", "HLT=", "CS =", "SS =" };
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		char text[2048];
		struct us_qmp_vcpu v;
		const char *at = text;
		strcpy(text, long_mode);
		strstr(text, needed[i])[1] = '?';
		assert_int_equal(us_qmp_next_vcpu(&at, &v), -EPROTO);
		at = text;
		strcpy(text, long_mode);
		strstr(text, needed[i])[4] = 'g';
		assert_int_equal(us_qmp_next_vcpu(&at, &v), -EPROTO);
	}
}

static void dumps_are_read(void **state)
{
	(void)state;
	uint8_t b[16];
	assert_true(us_qmp_read_dump("ffff: 0x0807060504030201 0x1\r\n", b, 16));
	assert_int_equal(b[0], 1);
	assert_int_equal(b[7], 8);
	assert_int_equal(b[8], 1);
	assert_false(us_qmp_read_dump("ffff: 0x0807060504030201\r\n", b, 16));
	assert_false(us_qmp_read_dump("ffff: Cannot access memory\r\n", b, 8));
}

/* Invented monitors. */

enum behaviour {
	GOOD,
	NO_NUMBER,    /* as QEMU before 7.2: one vCPU's registers have none */
	NONSENSE,     /* greets, then sends what is no JSON */
	NO_VCPUS,     /* a machine without processors */
	AARCH64,      /* or with others */
	STALLS_INFO,  /* after three stops it shows no registers */
	GARBLED_INFO, /* after three stops they are damaged */
	HUGE_INFO,    /* after three stops the reply has no end */
	FLOODS,	      /* events without a pause, after three stops */
	CLOSES_LATER, /* hangs up after three stops */
	SNAPSHOTS,    /* stands by itself after three stops, until it is looked at */
	STOPS_US,     /* SIGSTOP in the third stop, until the guest goes on */
	SLEEPS, /* at first, until it was looked at often, and after three stops */
};

static bool say(int fd, const char *text)
{
	return send(fd, text, strlen(text), MSG_NOSIGNAL) > 0;
}

static void say_registers(int fd, const char *text)
{
	char out[8192] = "{\"return\": \"", *to = out + strlen(out);
	for (; *text; text++) {
		if (*text == '\r' || *text == '\n') {
			*to++ = '\\';
			*to++ = *text == '\r' ? 'r' : 'n';
		} else {
			*to++ = *text;
		}
	}
	strcpy(to, "\"}\r\n");
	say(fd, out);
}

static void say_info(int fd, int behaviour, unsigned stops)
{
	char text[2048];
	strcpy(text, long_mode + (behaviour == NO_NUMBER ? strlen("\r\nCPU#0") : 0));
	if (stops <= 3 || behaviour < STALLS_INFO || behaviour >= SNAPSHOTS) {
		say_registers(fd, text);
	} else if (behaviour == GARBLED_INFO) {
		strstr(text, "RIP=")[6] = 'x';
		say_registers(fd, text);
	} else if (behaviour == HUGE_INFO) {
		say(fd, "{\"return\": \"");
		for (int i = 0; i < 1000; i++)
			say(fd, "CPU#0 RIP=0000000000000000 RSP=0000000000000000 ");
	} else if (behaviour == FLOODS) {
		while (say(fd, "{\"timestamp\": {}, \"event\": \"RTC_CHANGE\"}\r\n"))
			;
	} else if (behaviour == CLOSES_LATER) {
		shutdown(fd, SHUT_RDWR);
	}
}

/* In S3, where QEMU says neither STOP nor RESUME. */
static bool asleep;

static void fall_asleep_or_wake_up(int fd, bool looked, unsigned stops)
{
	static unsigned looks;
	looks += looked;
	if (asleep && looks == 5)
		say(fd, "{\"timestamp\": {}, \"event\": \"WAKEUP\"}\r\n");
	else if (!asleep && stops == 3 && !looked)
		say(fd, "{\"timestamp\": {}, \"event\": \"SUSPEND\"}\r\n");
	else
		return;
	asleep = !asleep;
	looks = 0;
}

static pid_t peer_of(int fd)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);
	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	return cred.pid;
}

static void answer(int fd, struct peer_page *page, int behaviour, const char *msg)
{
	const char *id = strstr(msg, "\"id\"");
	char reply[256], tail[64] = "}\r\n";
	if (id)
		snprintf(tail, sizeof(tail), ", %.*s}\r\n", (int)strcspn(id, ",}"), id);
	if (behaviour == NONSENSE && !strstr(msg, "qmp_capabilities")) {
		say(fd, "what?\r\n");
		return;
	}
	if (strstr(msg, "info registers")) {
		if (behaviour == SNAPSHOTS && atomic_load(&page->running))
			say(fd, "{\"timestamp\": {}, \"event\": \"RESUME\"}\r\n");
		say_info(fd, behaviour, atomic_load(&page->stops));
		if (behaviour == SLEEPS)
			fall_asleep_or_wake_up(fd, true, 0);
		return;
	}
	const char *value = "{}";
	bool third = behaviour == STOPS_US && atomic_load(&page->stops) == 3;
	if (third && strstr(msg, "\"cont\""))
		kill(peer_of(fd), SIGCONT);
	if (strstr(msg, "query-status"))
		value = asleep ? "{\"running\": false, \"status\": \"suspended\"}"
			       : "{\"running\": true, \"status\": \"running\"}";
	else if (strstr(msg, "query-cpus-fast"))
		value = behaviour == NO_VCPUS  ? "[]"
			: behaviour == AARCH64 ? "[{\"target\": \"aarch64\"}]"
					       : "[{\"target\": \"x86_64\"}]";
	else if (strstr(msg, "human-monitor-command"))
		value = "\"0: Cannot access memory\\r\\n\"";
	else if (strstr(msg, "\"stop\"")) {
		atomic_store(&page->running, false);
		atomic_fetch_add(&page->stops, 1);
		if (behaviour == STOPS_US && atomic_load(&page->stops) == 3) {
			kill(peer_of(fd), SIGSTOP);
			return;
		}
		say(fd, "{\"timestamp\": {}, \"event\": \"STOP\"}\r\n");
	} else if (strstr(msg, "\"cont\"")) {
		atomic_store(&page->running, true);
		atomic_fetch_add(&page->conts, 1);
		say(fd, "{\"timestamp\": {}, \"event\": \"RESUME\"}\r\n");
	}
	snprintf(reply, sizeof(reply), "{\"return\": %s%s", value, tail);
	say(fd, reply);
	if (behaviour == SLEEPS && strstr(msg, "\"cont\""))
		fall_asleep_or_wake_up(fd, false, atomic_load(&page->stops));
	if (behaviour == SNAPSHOTS && strstr(msg, "\"cont\"") &&
	    atomic_load(&page->stops) == 3)
		say(fd, "{\"timestamp\": {}, \"event\": \"STOP\"}\r\n");
}

static void serve_monitor(int fd, struct peer_page *page, int behaviour)
{
	char msg[1024];
	size_t n = 0;
	int depth = 0;
	asleep = behaviour == SLEEPS;
	say(fd, "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n");
	for (char c; n < sizeof(msg) - 1 && recv(fd, &c, 1, 0) == 1;) {
		if (!depth && c != '{')
			continue;
		msg[n++] = c;
		depth += (c == '{') - (c == '}');
		if (depth)
			continue;
		msg[n] = '\0';
		n = 0;
		answer(fd, page, behaviour, msg);
	}
}

static void strange_monitors_are_refused(void **state)
{
	(void)state;
	static const int cases[] = { NONSENSE, NO_VCPUS, AARCH64 };
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct peer p;
		struct us_backend *b = NULL;
		struct us_err e = { 0 };
		peer_start(&p, serve_monitor, cases[i]);
		struct us_target t = target_of(p.path);
		assert_true(us_backend_qmp.open(&t, &b, &e) < 0);
		assert_null(b);
		printf("# %d: %s\n", cases[i], e.msg);
		assert_non_null(strstr(e.msg, "attach to the monitor /tmp/us-peer"));
		assert_true(peer_runs(&p));
		peer_stop(&p);
	}
}

/* The owner lets the guest go while it is looked at: it does not count as paused. */
static void resumed_in_mid_look(void **state)
{
	(void)state;
	struct peer p;
	struct us_err e;
	struct us_backend_counts counts;
	struct us_schedule s = { .hz = 1000, .seed = 1 };
	static struct us_capture c;
	peer_start(&p, serve_monitor, SNAPSHOTS);
	struct us_target t = target_of(p.path);
	struct us_backend *b = open_backend(&us_backend_qmp, &t);
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(b->ops->next(b, us_now_ns() + 5 * US_NS_PER_SEC, &c),
				 1);
		assert_int_equal(c.state, US_VCPU_GUEST);
		b->ops->release(b, &c);
	}
	b->ops->counts(b, &counts);
	assert_int_equal(counts.failed, 1);
	us_backend_close(b);
	assert_true(peer_runs(&p));
	peer_stop(&p);
}

/* A guest that is found asleep is off until it wakes up, and again when it sleeps. */
static void sleeps_and_wakes_up(void **state)
{
	(void)state;
	struct peer p;
	struct us_err e;
	struct us_schedule s = { .hz = 1000, .seed = 1 };
	peer_start(&p, serve_monitor, SLEEPS);
	struct us_target t = target_of(p.path);
	struct us_backend *b = open_backend(&us_backend_qmp, &t);
	assert_non_null(strstr(b->how, "paused"));
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	assert_true(reaches(b, US_VCPU_OFF));
	assert_int_equal(atomic_load(&p.page->stops), 0);
	assert_true(reaches(b, US_VCPU_GUEST));
	assert_true(reaches(b, US_VCPU_OFF));
	assert_int_equal(atomic_load(&p.page->stops), 3);
	assert_true(reaches(b, US_VCPU_GUEST));
	us_backend_close(b);
	assert_true(peer_runs(&p));
	peer_stop(&p);
}

#define LOOKS 50

/* Until it fails; if it is to last: until so many looks are over.  A busy host has 30 s
 * for it.  The last result, and the number of captures. */
static int look_on(struct us_backend *b, bool lasts, int *ret_n)
{
	static struct us_capture c;
	struct us_backend_counts k = { 0 };
	uint64_t end = us_now_ns() + 30 * US_NS_PER_SEC;
	int r = 0, n = 0;
	while (r >= 0 && us_now_ns() < end && !(lasts && n + (int)k.failed >= LOOKS)) {
		r = b->ops->next(b, us_now_ns() + 100 * US_NS_PER_MS, &c);
		if (r == 1) {
			b->ops->release(b, &c);
			n++;
		}
		b->ops->counts(b, &k);
	}
	*ret_n = n;
	return r;
}

/* In a process of its own.  0, or the number of what is wrong. */
static int fails_later(int behaviour)
{
	static struct peer p;
	struct us_err e = { 0 };
	struct us_schedule s = { .hz = 1000, .seed = 1 };
	peer_start(&p, serve_monitor, behaviour);
	struct us_target t = target_of(p.path);
	struct us_backend *b = open_backend(&us_backend_qmp, &t);
	if (b->ops->start(b, &s, &e))
		return 1;
	/* Registers that cannot be read are looks that failed, no more. */
	bool lasts = behaviour == GOOD || behaviour == NO_NUMBER ||
		     behaviour == GARBLED_INFO;
	int n, r = look_on(b, lasts, &n);
	if (n < 1)
		return 2;
	if ((r < 0 ? r : 0) != (lasts ? 0 : -ECONNRESET))
		return 3;
	struct us_backend_counts k;
	b->ops->counts(b, &k);
	/* The one that ended it was a look, too. */
	if ((k.failed > 0) != (behaviour == GARBLED_INFO || !lasts))
		return 4;
	b->ops->explain(b, r, &e);
	if (!lasts && !e.msg[0])
		return 5;
	us_backend_close(b);
	if (behaviour != CLOSES_LATER && behaviour != FLOODS && !peer_runs(&p))
		return 6;
	peer_stop(&p);
	return 0;
}

/* All at once: most of them are waited for, one by one for more than a minute. */
static void monitors_fail_later(void **state)
{
	(void)state;
	pid_t pid[CLOSES_LATER + 1] = { 0 };
	for (int behaviour = GOOD; behaviour <= CLOSES_LATER; behaviour++) {
		if (behaviour == NONSENSE || behaviour == NO_VCPUS ||
		    behaviour == AARCH64)
			continue;
		pid[behaviour] = fork();
		assert_true(pid[behaviour] >= 0);
		if (!pid[behaviour])
			_exit(fails_later(behaviour));
	}
	int wrong = 0;
	for (int behaviour = GOOD; behaviour <= CLOSES_LATER; behaviour++) {
		int status = 0;
		if (!pid[behaviour])
			continue;
		assert_int_equal(waitpid(pid[behaviour], &status, 0), pid[behaviour]);
		if (status)
			print_message("# %d: status 0x%x\n", behaviour, status);
		wrong += status != 0;
	}
	assert_int_equal(wrong, 0);
}

/* In a process of its own.  0: it says why, and counts the hold. */
static int stopped_in_a_hold(const char *path)
{
	struct us_err e = { 0 };
	struct us_schedule s = { .hz = 1000, .seed = 1 };
	struct us_target t = target_of(path);
	struct us_backend *b = open_backend(&us_backend_qmp, &t);
	struct us_backend_counts k;
	if (b->ops->start(b, &s, &e))
		return 1;
	int n, r = look_on(b, false, &n);
	b->ops->explain(b, r, &e);
	b->ops->counts(b, &k);
	printf("# %s, %.3f s taken\n", e.msg, (double)k.stolen_ns / US_NS_PER_SEC);
	fflush(stdout);
	us_backend_close(b);
	return !(r < 0 && strstr(e.msg, "the watchdog had to resume the guest") &&
		 k.stolen_ns > 3 * US_NS_PER_SEC && k.failed);
}

static void the_profiler_is_stopped_in_a_hold(void **state)
{
	struct peer p;
	int status;
	(void)state;
	peer_start(&p, serve_monitor, STOPS_US);
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(stopped_in_a_hold(p.path));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_true(peer_runs(&p));
	peer_stop(&p);
}

static void migrations_are_seen(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool goes_on;
	} row[] = {
		{ "{}", false },
		{ "{\"blocked-reasons\": [\"a \\\"b\\\"\"]}", false },
		{ "{\"status\": \"none\"}", false },
		{ "{\"total-time\": 9, \"status\": \"completed\", \"ram\": {}}",
		  false },
		{ "{\"status\": \"failed\", \"error-desc\": \"x\"}", false },
		{ "{\"status\": \"cancelled\"}", false },
		{ "{\"status\": \"cancelling\"}", true },
		{ "{\"expected-downtime\": 300, \"status\": \"active\"}", true },
		{ "{\"status\":\"setup\"}", true },
		{ "{\"status\": \"pre-switchover\"}", true },
		{ "{\"status\"", false },
		{ "", false },
		{ "globals:\r\nstore-global-state: on\r\n", false },
		{ "globals:\r\nMigration status: active\r\ntotal time: 5 ms", true },
		{ "Migration status: completed\r\n", false },
		{ "Status:\t\tactive\r\n", true },
	};
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		assert_int_equal(us_qmp_migrates(row[i].text, strlen(row[i].text)),
				 row[i].goes_on);
}

static void encryption_is_told(void **state)
{
	(void)state;
	assert_string_equal(us_qemu_says_sev(""), "");
	assert_string_equal(us_qemu_says_sev("SEV is not enabled\r\n"), "");
	assert_string_equal(us_qemu_says_sev("unknown command: 'info sev'\r\n"), "");
	assert_string_equal(
		us_qemu_says_sev("handle: 1\r\nstate: running\r\nbuild: 10\r\n"
				 "api version: 1.49\r\ndebug: on\r\n"),
		"SEV");
	assert_string_equal(us_qemu_says_sev("SEV type: sev-snp\r\nstate: running\r\n"),
			    "SEV-SNP");
}

static void running_is_told_from_the_status(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool runs;
	} row[] = {
		{ "{\"status\": \"running\", \"running\": true}", true },
		{ "{\"running\":true,\"status\":\"running\"}", true },
		{ "{\"status\": \"suspended\", \"running\": false}", false },
		{ "{\"running\": false, \"status\": \"running\"}", false },
		{ "{\"status\": \"running\"", false },
		{ "{\"running\": tru", false },
		{ "{}", false },
		{ "", false },
	};
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		assert_int_equal(us_qmp_runs(row[i].text, strlen(row[i].text)),
				 row[i].runs);
}

static void vcpus_are_counted(void **state)
{
	(void)state;
	static const char two[] = "[{\"thread-id\": 9, \"cpu-index\": 0},"
				  "{\"cpu-index\":1,\"thread-id\":10}]";
	assert_int_equal(us_qmp_n_vcpus(two, strlen(two)), 2);
	assert_int_equal(us_qmp_n_vcpus(two, strlen(two) - 30), 1);
	assert_int_equal(us_qmp_n_vcpus(two, 0), 0);
}

static void probe_says_why_not(void **state)
{
	(void)state;
	struct us_target t = { 0 };
	struct us_err why = { 0 };
	assert_int_equal(us_backend_qmp.probe(&t, &why), 0);
	assert_non_null(strstr(why.hint, "-qmp unix:"));
	struct us_guest *g = calloc(1, sizeof(*g));
	assert_non_null(g);
	t.guest = g;
	strcpy(g->vmm, "lkvm");
	assert_int_equal(us_backend_qmp.probe(&t, &why), 0);
	assert_non_null(strstr(why.msg, "lkvm is no QEMU"));
	strcpy(g->vmm, "qemu");
	g->libvirt = true;
	assert_int_equal(us_backend_qmp.probe(&t, &why), 0);
	assert_non_null(strstr(why.msg, "libvirt has the monitor"));
	free(g);
	t = target_of("/tmp/us-there-is-no-such-socket");
	assert_int_equal(us_backend_qmp.probe(&t, &why), 0);
	assert_non_null(strstr(why.msg, "/tmp/us-there-is-no-such-socket"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(encryption_is_told),
		cmocka_unit_test(probe_says_why_not),
		cmocka_unit_test(migrations_are_seen),
		cmocka_unit_test(running_is_told_from_the_status),
		cmocka_unit_test(vcpus_are_counted),
		cmocka_unit_test(messages_are_told_apart),
		cmocka_unit_test(strings_are_unquoted),
		cmocka_unit_test(registers_are_read),
		cmocka_unit_test(narrow_registers_are_read),
		cmocka_unit_test(damaged_registers_are_refused),
		cmocka_unit_test(dumps_are_read),
		cmocka_unit_test(strange_monitors_are_refused),
		cmocka_unit_test(resumed_in_mid_look),
		cmocka_unit_test(sleeps_and_wakes_up),
		cmocka_unit_test(monitors_fail_later),
		cmocka_unit_test(the_profiler_is_stopped_in_a_hold),
		REMOTE_TESTS(&monitor),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
