/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The QMP client against peers that lie, stall and shout, and against real QEMU. */
#include "qemu.h"

#include "vmm/qmp.h"
#include "vmm/qmp_parse.h"
#include "vmm/socket_peer.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>

#define GREETING "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n"
#define READY	 "{\"return\": {}, \"id\": 0}\r\n"
#define EVENT	 "{\"timestamp\": {}, \"event\": \"STOP\"}\r\n"

/* A peer that sends text, `repeat` times its second part, and may hang up. */
struct peer {
	int fd;
	const char *first, *again;
	int repeat;
	int pause_us; /* between single bytes; 0: all at once */
	bool hang_up;
	pthread_t thread;
};

static bool put(struct peer *p, const char *text)
{
	size_t n = strlen(text), step = p->pause_us ? 1 : n;
	for (size_t i = 0; i < n; i += step) {
		if (send(p->fd, text + i, step, MSG_NOSIGNAL) < 0)
			return false;
		if (p->pause_us)
			usleep((useconds_t)p->pause_us);
	}
	return true;
}

static void *peer_main(void *arg)
{
	struct peer *p = arg;
	bool ok = put(p, p->first);
	for (int i = 0; ok && i < p->repeat; i++)
		ok = put(p, p->again);
	if (p->hang_up)
		shutdown(p->fd, SHUT_RDWR);
	return NULL;
}

static int peer_start(struct peer *p)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	p->fd = pair[1];
	assert_int_equal(pthread_create(&p->thread, NULL, peer_main, p), 0);
	return pair[0];
}

static void peer_end(struct peer *p)
{
	shutdown(p->fd, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	close(p->fd);
}

/* Open against a peer that says this; the code, and the client if it opened. */
static int open_against(struct peer *p, struct us_qmp **q, struct us_err *e)
{
	*q = NULL;
	return us_qmp_open_fd(peer_start(p), q, e);
}

static void refuses_nonsense(void **state)
{
	(void)state;
	static const struct {
		const char *says, *message;
	} bad[] = {
		{ "QEMU 7.2.22 monitor - type 'help'\r\n(qemu) ", "QEMU 7.2.22" },
		{ "\x1b[2J\xff\n", "?[2J??" },
		{ "]", "no JSON object" },
		{ "{\"a\": }\n", "no valid JSON" },
		{ "{\"a\": ]\n", "no valid JSON" },
		{ "{\"QMP\": 7}\n", "no QMP message" },
		{ "{}\n", "no QMP message" },
		{ READY, "no greeting" },
		{ EVENT READY, "no greeting" },
		{ GREETING "{\"return\"", "gone" },
		{ GREETING "{\"return\": }", "no valid JSON" },
		{ "", "gone" },
		{ "{\"QMP\": {", "gone" },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		bool cut = !strcmp(bad[i].message, "gone");
		struct peer p = { .first = bad[i].says, .hang_up = cut };
		struct us_qmp *q;
		struct us_err e = { 0 };
		int r = open_against(&p, &q, &e);
		assert_true(r == -EPROTO || r == -ECONNRESET);
		assert_int_equal(e.code, r);
		if (!strstr(e.msg, bad[i].message))
			fail_msg("case %zu: \"%s\" lacks \"%s\"", i, e.msg,
				 bad[i].message);
		peer_end(&p);
	}
}

/* A GDB stub has stopped its guest: it runs on only after a detach. */
static void detaches_from_a_stub(void **state)
{
	(void)state;
	static const char *const says[] = { "$T02thread:01;#04", "+$S05#b8" };
	for (size_t i = 0; i < sizeof(says) / sizeof(*says); i++) {
		struct peer p = { .first = says[i], .again = "$OK#9a", .repeat = 1 };
		struct us_qmp *q;
		struct us_err e = { 0 };
		char got[64];
		assert_int_equal(open_against(&p, &q, &e), -EPROTO);
		ssize_t n = recv(p.fd, got, sizeof(got) - 1, MSG_DONTWAIT);
		assert_true(n > 0);
		got[n] = '\0';
		assert_string_equal(got, "+$D#44");
		assert_non_null(strstr(e.hint, "gdb:"));
		peer_end(&p);
	}
}

#define GREETING_OF(list) "{\"QMP\": {\"capabilities\": " list "}}\r\n"
#define REFUSED		  "{\"error\": {\"class\": \"X\", \"desc\": \"no\"}, \"id\": 0}\r\n"
#define READY_THEN	  "{\"return\": {}, \"id\": 1}\r\n"

/* What a peer can do is used if it says so, and does it. */
static void negotiates_capabilities(void **state)
{
	(void)state;
	static const struct {
		const char *says;
		bool asks_for_oob;
	} peers[] = {
		{ GREETING_OF("[]") READY, false },
		{ GREETING_OF("7") READY, false },
		{ GREETING_OF("[7, null, \"x\"]") READY, false },
		{ GREETING_OF("[\"x\", \"oob\"]") READY, true },
		{ GREETING_OF("[\"oob\"]") REFUSED READY_THEN, true },
	};
	for (size_t i = 0; i < sizeof(peers) / sizeof(*peers); i++) {
		struct peer p = { .first = peers[i].says };
		struct us_qmp *q;
		struct us_err e;
		char got[512];
		assert_int_equal(open_against(&p, &q, &e), 0);
		ssize_t n = recv(p.fd, got, sizeof(got) - 1, 0);
		assert_true(n > 0);
		got[n] = '\0';
		assert_int_equal(strstr(got, "\"oob\"") != NULL, peers[i].asks_for_oob);
		us_qmp_close(q);
		peer_end(&p);
	}
}

static void takes_replies_in_pieces(void **state)
{
	(void)state;
	struct us_qmp *q;
	struct us_err e;
	struct peer p = {
		/* Before the greeting, too: QEMU tells what happens meanwhile. */
		.first = EVENT EVENT GREETING EVENT READY EVENT
		"{\"return\":\n {\"status\": \"running\"},\n \"id\": 1}\n"
		"{\"error\": {\"class\": \"X\", \"desc\": \"no \x01\"}, \"id\": 2}"
		"{\"error\": {\"class\": \"X\", \"desc\": \"no way\"}, \"id\": 2}",
		.pause_us = 50,
	};
	assert_int_equal(open_against(&p, &q, &e), 0);
	json_t *reply = NULL;
	assert_int_equal(us_qmp_run(q, "query-status", NULL, &reply, &e), 0);
	assert_string_equal(json_string_value(json_object_get(reply, "status")),
			    "running");
	json_decref(reply);
	/* A control character in a string is no JSON: the stream is lost. */
	assert_int_equal(us_qmp_run(q, "x", json_object(), NULL, &e), -EPROTO);
	assert_int_equal(us_qmp_run(q, "x", json_object(), NULL, &e), -EPROTO);
	us_qmp_close(q);
	peer_end(&p);
}

static void passes_on_errors_and_skips_late_replies(void **state)
{
	(void)state;
	struct peer p = {
		.first = GREETING READY
		"{\"return\": {}, \"id\": 9}\n{\"return\": \"late\", \"id\": 8}\n"
		"{\"error\": {\"class\": \"GenericError\", \"desc\": \"No \\u001b[m\"},"
		"\"id\": 1}\n{\"return\": 5, \"id\": 2}\n{\"return\": \"line\", "
		"\"id\": 3}\n",
	};
	struct us_qmp *q;
	struct us_err e;
	assert_int_equal(open_against(&p, &q, &e), 0);
	assert_int_equal(us_qmp_run(q, "x", NULL, NULL, &e), -EREMOTEIO);
	assert_non_null(strstr(e.msg, "run 'x'"));
	assert_non_null(strstr(e.msg, "No ?[m"));
	json_t *reply;
	assert_int_equal(us_qmp_run(q, "y", NULL, &reply, &e), 0);
	assert_int_equal(json_integer_value(reply), 5);
	json_decref(reply);
	char text[4];
	assert_int_equal(us_qmp_human(q, "info", 0, text, sizeof(text), &e), 0);
	assert_string_equal(text, "lin");
	us_qmp_close(q);
	peer_end(&p);
}

static void bounds_floods(void **state)
{
	(void)state;
	static char filler[65536];
	memset(filler, 'x', sizeof(filler) - 1);
	static const struct {
		const char *first, *again;
	} floods[] = {
		{ GREETING READY "{\"return\": \"", filler }, /* one endless string */
		{ GREETING READY, EVENT EVENT EVENT EVENT EVENT EVENT EVENT EVENT },
		{ GREETING READY, "[[[[[[[[" },
		{ GREETING READY "{\"return\":", "[[[[[[[[" },
		{ GREETING READY, "        \r\n" },
	};
	for (size_t i = 0; i < sizeof(floods) / sizeof(*floods); i++) {
		struct peer p = { .first = floods[i].first,
				  .again = floods[i].again,
				  .repeat = 1 << 30 };
		struct us_qmp *q;
		struct us_err e;
		assert_int_equal(open_against(&p, &q, &e), 0);
		int r = us_qmp_run(q, "query-status", NULL, NULL, &e);
		assert_true(r == -EPROTO || r == -ETIMEDOUT);
		us_qmp_close(q);
		peer_end(&p);
	}
}

static void says_that_a_monitor_is_busy(void **state)
{
	(void)state;
	struct peer p = { .first = "" };
	struct us_qmp *q;
	struct us_err e;
	assert_int_equal(open_against(&p, &q, &e), -EBUSY);
	assert_non_null(strstr(e.hint, "one client"));
	peer_end(&p);
}

static void connect_says_why(void **state)
{
	(void)state;
	static const struct {
		const char *endpoint;
		int code;
	} bad[] = {
		{ "/nonexistent/qmp", -ENOENT },
		{ "qmp:/nonexistent/qmp", -ENOENT },
		{ "nonsense", -EINVAL },
		{ "", -EINVAL },
		{ "host:", -EINVAL },
		{ "a:1x", -EINVAL },
		{ "127.0.0.1:1", -ECONNREFUSED },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct us_qmp *q;
		struct us_err e = { 0 };
		assert_int_equal(us_qmp_open(bad[i].endpoint, &q, &e), bad[i].code);
		assert_true(e.msg[0]);
	}
	char longer[300];
	memset(longer, '/', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	struct us_qmp *q;
	assert_int_equal(us_qmp_open(longer, &q, NULL), -ENAMETOOLONG);
}

static void speaks_with_qemu(void **state)
{
	(void)state;
	if (!have_program(QEMU)) {
		print_message("# SKIP: no " QEMU " here\n");
		skip();
	}
	struct qemu vm;
	qemu_start(&vm, "-machine none -S -qmp unix:%s/qmp,server=on,wait=off");
	struct us_qmp *q = NULL, *second = NULL;
	struct us_err e = { 0 };
	assert_true(qemu_wait_file(&vm, vm.qmp));
	assert_int_equal(us_qmp_open(vm.qmp, &q, &e), 0);
	assert_int_equal(us_socket_peer_pid(us_qmp_fd(q)), vm.pid);
	json_t *reply;
	assert_int_equal(us_qmp_run(q, "query-status", NULL, &reply, &e), 0);
	assert_string_equal(json_string_value(json_object_get(reply, "status")),
			    "prelaunch");
	json_decref(reply);
	char text[4096];
	assert_int_equal(us_qmp_human(q, "info version", -1, text, sizeof(text), &e),
			 0);
	assert_true(text[0] >= '1' && text[0] <= '9');
	assert_int_equal(us_qmp_run(q, "no-such", NULL, NULL, &e), -EREMOTEIO);
	assert_non_null(strstr(e.msg, "no-such"));
	/* The second client is told that the monitor is taken. */
	assert_int_equal(us_qmp_open(vm.qmp, &second, &e), -EBUSY);
	/* QEMU ends under us. */
	kill(vm.pid, SIGKILL);
	assert_int_equal(us_qmp_run(q, "query-status", NULL, NULL, &e), -ECONNRESET);
	assert_int_equal(us_qmp_run(q, "query-status", NULL, NULL, &e), -ECONNRESET);
	us_qmp_close(q);
	qemu_stop(&vm);
}

static void frames_are_cut_anywhere(void **state)
{
	(void)state;
	static const char msg[] = " {\"a\": \"}\\\"{\", \"b\": [{}, {\"c\": 1}]} tail";
	size_t whole = strlen(msg) - strlen(" tail");
	for (size_t cut = 0; cut <= whole; cut++) {
		struct us_qmp_framer f = { 0 };
		int r = us_qmp_frame(&f, msg, cut);
		assert_int_equal(r, cut == whole);
		if (!r)
			assert_int_equal(us_qmp_frame(&f, msg, strlen(msg)), 1);
		assert_int_equal(f.at, whole);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_cut_anywhere),
		cmocka_unit_test(refuses_nonsense),
		cmocka_unit_test(detaches_from_a_stub),
		cmocka_unit_test(negotiates_capabilities),
		cmocka_unit_test(takes_replies_in_pieces),
		cmocka_unit_test(passes_on_errors_and_skips_late_replies),
		cmocka_unit_test(bounds_floods),
		cmocka_unit_test(says_that_a_monitor_is_busy),
		cmocka_unit_test(connect_says_why),
		cmocka_unit_test(speaks_with_qemu),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
