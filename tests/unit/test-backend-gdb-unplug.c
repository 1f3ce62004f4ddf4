/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A vCPU that is unplugged while the gdb backend samples: QEMU's stub refuses to select
 * it, and acknowledges a question for its state, but does not answer it. */
#include "remote.h"

extern const struct us_backend_ops us_backend_gdb;

#define N_VCPU 3

static void say(int fd, const char *body)
{
	char out[2048];
	unsigned sum = 0;
	for (const char *p = body; *p; p++)
		sum += (unsigned char)*p;
	snprintf(out, sizeof(out), "$%s#%02x", body, sum & 255);
	send(fd, out, strlen(out), MSG_NOSIGNAL);
}

/* Classical x86-64 registers: pc 0x1000 times the vCPU's number. */
static void say_registers(int fd, unsigned selected)
{
	char hex[560 * 2 + 1];
	memset(hex, '0', sizeof(hex) - 1);
	hex[sizeof(hex) - 1] = '\0';
	hex[128 * 2 + 2] = (char)('0' + selected);
	say(fd, hex);
}

/* gone: the thread that is unplugged; 0: none.  Thread 2 is halted. */
static void answer(int fd, struct peer_page *page, const char *body, unsigned gone)
{
	static unsigned selected = 1;
	unsigned id;
	send(fd, "+", 1, MSG_NOSIGNAL);
	if (!strcmp(body, "qqemu.sstepbits"))
		say(fd, "ENABLE=1");
	else if (!strcmp(body, "qfThreadInfo"))
		say(fd, "m01,02,03");
	else if (!strcmp(body, "qsThreadInfo"))
		say(fd, "l");
	else if (!strcmp(body, "g"))
		say_registers(fd, selected);
	else if (sscanf(body, "Hg%x", &id) == 1) {
		say(fd, id == gone ? "E22" : "OK");
		selected = id == gone ? selected : id;
	} else if (sscanf(body, "qThreadExtraInfo,%x", &id) == 1) {
		if (id != gone) /* "[halted ]", "[running]" */
			say(fd, id == 2 ? "5b68616c746564205d" : "5b72756e6e696e675d");
	} else if (!strcmp(body, "c")) {
		atomic_fetch_add(&page->conts, 1);
		atomic_store(&page->running, true);
	} else if (body[0] == 'D') {
		atomic_fetch_add(&page->detaches, 1);
		atomic_store(&page->running, true);
		say(fd, "OK");
	} else {
		say(fd, "");
	}
}

/* From the fourth stop on, thread `gone` is. */
static void serve_stub(int fd, struct peer_page *page, int gone)
{
	char body[512], c;
	size_t n = 0;
	int left = -1; /* of a packet: -1: outside, 0: within, else of its checksum */
	atomic_store(&page->running, false);
	while (recv(fd, &c, 1, 0) == 1) {
		if (left < 0 && c == '\x03' && atomic_exchange(&page->running, false)) {
			atomic_fetch_add(&page->stops, 1);
			say(fd, "T02thread:01;");
		} else if (left < 0 && c == '$') {
			left = 0, n = 0;
		} else if (left == 0 && c == '#') {
			left = 2;
		} else if (left == 0 && n < sizeof(body) - 1) {
			body[n++] = c;
		} else if (left > 0 && --left == 0) {
			left = -1;
			body[n] = '\0';
			answer(fd, page, body,
			       atomic_load(&page->stops) > 3 ? (unsigned)gone : 0);
		}
	}
}

static void expect_capture(struct us_backend *b, unsigned vcpu, bool gone)
{
	static struct us_capture c;
	uint64_t asked_ns = us_now_ns();
	assert_int_equal(b->ops->next(b, asked_ns + 5 * US_NS_PER_SEC, &c), 1);
	assert_int_equal(c.vcpu, vcpu);
	assert_int_equal(c.regs.pc, gone ? 0 : 0x1000 * (vcpu + 1));
	assert_int_equal(c.form, gone ? US_CAPTURE_NONE : US_CAPTURE_LIVE);
	assert_int_equal(c.state, gone	      ? US_VCPU_OFF
				  : vcpu == 1 ? US_VCPU_HALTED
					      : US_VCPU_GUEST);
	b->ops->release(b, &c);
	/* It was not held for as long as an answer may take. */
	assert_true(us_now_ns() - asked_ns < 2 * US_NS_PER_SEC);
}

/* Whichever it is, the last one too; it counts as off. */
static void the_others_are_sampled_on(void **state)
{
	(void)state;
	for (unsigned gone = 1; gone <= N_VCPU; gone++) {
		struct peer p;
		struct us_err e;
		struct us_schedule s = { .hz = 1000, .seed = 1 };
		peer_start(&p, serve_stub, (int)gone);
		struct us_target t = { 0 };
		snprintf(t.gdb, sizeof(t.gdb), "%s", p.path);
		struct us_backend *b = open_backend(&us_backend_gdb, &t);
		assert_int_equal(b->n_vcpu, N_VCPU);
		assert_int_equal(b->ops->start(b, &s, &e), 0);
		for (unsigned i = 0; i < 20; i++) {
			bool there = atomic_load(&p.page->stops) < 3;
			for (unsigned k = 0; k < N_VCPU; k++)
				expect_capture(b, k, !there && k + 1 == gone);
			assert_true(peer_runs(&p));
		}
		us_backend_close(b);
		assert_true(peer_runs(&p));
		peer_stop(&p);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_others_are_sampled_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
