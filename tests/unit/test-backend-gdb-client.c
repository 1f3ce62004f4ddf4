/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GDB stubs as peers: those that misbehave, and a monitor behind one. */
#include "unit.h"

#include "backend/gdb/client.h"
#include "backend/gdb/code.h"
#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

struct peer {
	int fd;
	const char *says; /* after each read, again and again */
	int pause_us;
	int times; /* then it hangs up; 0: never */
	char heard[4096];
	size_t n_heard;
	pthread_t thread;
};

static void *peer_main(void *arg)
{
	struct peer *p = arg;
	char buf[512];
	for (int i = 0; !p->times || i < p->times; i++) {
		ssize_t n = recv(p->fd, buf, sizeof(buf),
				 p->pause_us ? MSG_DONTWAIT : 0);
		if (n == 0 || (n < 0 && !p->pause_us))
			break;
		for (ssize_t k = 0; k < n && p->n_heard < sizeof(p->heard) - 1; k++)
			p->heard[p->n_heard++] = buf[k];
		usleep((useconds_t)p->pause_us);
		if (send(p->fd, p->says, strlen(p->says), MSG_NOSIGNAL) < 0)
			break;
	}
	if (p->times)
		shutdown(p->fd, SHUT_RDWR);
	return NULL;
}

static struct us_gdb gdb;

static void peer_start(struct peer *p)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	p->fd = pair[1];
	us_gdb_init(&gdb, pair[0]);
	assert_int_equal(pthread_create(&p->thread, NULL, peer_main, p), 0);
}

static void peer_end(struct peer *p)
{
	us_gdb_fini(&gdb);
	shutdown(p->fd, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	close(p->fd);
}

static void exchanges_are_acknowledged(void **state)
{
	(void)state;
	struct peer p = { .says = "+$OK#9a" };
	peer_start(&p);
	uint64_t deadline = us_now_ns() + 60 * US_NS_PER_SEC;
	assert_int_equal(us_gdb_ask(&gdb, "qC", deadline), 0);
	assert_true(us_gdb_said(&gdb, "OK"));
	assert_int_equal(us_gdb_ask(&gdb, "g", deadline), 0);
	assert_int_equal(us_gdb_wait_ack(&gdb), 0);
	peer_end(&p);
	assert_string_equal(p.heard, "$qC#b4+$g#67");
}

/* QEMU that writes a snapshot hears nothing for as long as that takes. */
static void late_acknowledgements_are_waited_for(void **state)
{
	(void)state;
	struct peer p = { .says = "+", .pause_us = 150000, .times = 1 };
	peer_start(&p);
	gdb.acks = true;
	uint64_t deadline = us_now_ns() + 60 * US_NS_PER_SEC;
	assert_int_equal(us_gdb_put(&gdb, "c"), 0);
	assert_int_equal(us_gdb_flush(&gdb, deadline), 0);
	assert_int_equal(us_gdb_wait_ack(&gdb), 0);
	assert_int_equal(gdb.sent, 0);
	assert_false(gdb.silent);
	peer_end(&p);
}

static void misbehaviour_ends_in_an_error(void **state)
{
	(void)state;
	static const struct {
		struct peer peer;
		int code;
	} cases[] = {
		{ { .says = "" }, -ETIMEDOUT },
		{ { .says = "+$O", .times = 1 }, -ECONNRESET },
		{ { .says = "", .times = 1 }, -ECONNRESET },
		{ { .says = "-" }, -EPROTO },
		{ { .says = "+$OK#00" }, -EPROTO },
		{ { .says = "$", .pause_us = 100 }, -ETIMEDOUT },
		{ { .says = "++++++++++++++++", .pause_us = 100 }, -ETIMEDOUT },
		{ { .says = "%x#78", .pause_us = 10 }, -EPROTO },
		{ { .says = "HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n"
			    "<html>no, this is no stub at all</html>" },
		  -EPROTO },
		{ { .says = "SSH-2.0-OpenSSH_9.2p1\r\n" }, -EPROTO },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct peer p = cases[i].peer;
		struct us_err e = { 0 };
		peer_start(&p);
		bool waits = cases[i].code == -ETIMEDOUT;
		uint64_t deadline = us_now_ns() + (waits ? 200 : 60000) * US_NS_PER_MS;
		int r = us_gdb_ask_explain(&gdb, "qSupported", deadline, &e);
		assert_int_equal(r, cases[i].code);
		assert_non_null(strstr(e.msg, "asking the stub \"qSupported\": it"));
		peer_end(&p);
	}
}

static void a_refused_packet_is_sent_again(void **state)
{
	(void)state;
	struct peer p = { .says = "-" };
	peer_start(&p);
	uint64_t deadline = us_now_ns() + 60 * US_NS_PER_SEC;
	assert_int_equal(us_gdb_ask(&gdb, "c", deadline), -EPROTO);
	peer_end(&p);
	assert_string_equal(p.heard, "$c#63$c#63$c#63$c#63");
}

static const char protected_mode[] =
	"\r\nCPU#0\r\nEAX=0 EBX=0 ECX=0 EDX=0\r\nESI=0 EDI=0 EBP=0 ESP=7000\r\n"
	"EIP=00001000 EFL=00000002 [-------] CPL=0 II=0 A20=1 SMM=0 HLT=0\r\n"
	"CS =0008 00010000 ffffffff 00009b00 DPL=0 CS16 [-RA]\r\n"
	"SS =0010 00000000 ffffffff 00cf9300 DPL=0 DS   [-WA]\r\n"
	"CR0=00000011 CR2=00000000 CR3=00000000 CR4=00000000\r\n";

/* The packets of a monitor's output: "O" and its bytes, then OK. */
static const char *as_console(const char *text)
{
	static char packets[2048];
	unsigned sum = 'O';
	char *to = packets + sprintf(packets, "$O");
	for (char *from = to; *text; from = to) {
		to += sprintf(to, "%02x", (unsigned char)*text++);
		sum += (unsigned char)from[0] + (unsigned char)from[1];
	}
	sprintf(to, "#%02x$OK#9a", sum & 255);
	return packets;
}

static unsigned times_asked(const struct peer *p)
{
	unsigned n = 0;
	for (const char *at = p->heard; (at = strstr(at, "$qRcmd,")); at++)
		n++;
	return n;
}

/* One vCPU in protected mode at cs:ip; what the stub alone would make of it. */
static us_gva settled(struct us_gdb_codes *c, uint16_t cs, us_gva ip, uint8_t *ret_bits)
{
	struct us_gdb_code code = { .open = true, .mode = 1, .selector = cs, .ip = ip };
	struct us_regs r = { .pc = ip, .bits = 32 };
	uint64_t deadline = us_now_ns() + 60 * US_NS_PER_SEC;
	assert_int_equal(us_gdb_codes_settle(c, &gdb, 1, &code, &r, deadline), 0);
	*ret_bits = r.bits;
	return r.pc;
}

static void code_segments_are_asked_of_the_monitor(void **state)
{
	(void)state;
	struct us_gdb_codes c = { 0 };
	struct us_err e;
	uint8_t bits;
	struct peer p = { .says = as_console(protected_mode) };
	peer_start(&p);
	gdb.no_ack = true;
	assert_int_equal(settled(&c, 8, 0x1000, &bits), 0x1000); /* no monitor */
	assert_int_equal(us_gdb_codes_init(&c, 1, &e), 0);
	assert_int_equal(settled(&c, 8, 0x1000, &bits), 0x11000);
	assert_int_equal(bits, 16);
	for (us_gva ip = 1; ip < US_GDB_CODE_TRUST; ip++) /* remembered */
		assert_int_equal(settled(&c, 8, ip, &bits), 0x10000 + ip);
	assert_int_equal(times_asked(&p), 1);
	assert_int_equal(settled(&c, 8, 0x1000, &bits), 0x11000);
	assert_int_equal(times_asked(&p), 2);
	/* The monitor speaks of another moment, or of another vCPU. */
	assert_int_equal(settled(&c, 0x20, 0x5000, &bits), 0x5000);
	assert_int_equal(bits, 32);
	us_gdb_codes_fini(&c);
	peer_end(&p);
}

static void a_stub_without_a_monitor_is_asked_once(void **state)
{
	(void)state;
	struct us_gdb_codes c = { 0 };
	struct us_err e;
	uint8_t bits;
	struct peer p = { .says = "$#00" };
	peer_start(&p);
	gdb.no_ack = true;
	assert_int_equal(us_gdb_codes_init(&c, 1, &e), 0);
	assert_int_equal(settled(&c, 8, 0x1000, &bits), 0x1000);
	assert_int_equal(settled(&c, 8, 0x1000, &bits), 0x1000);
	assert_int_equal(times_asked(&p), 1);
	us_gdb_codes_fini(&c);
	peer_end(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_segments_are_asked_of_the_monitor),
		cmocka_unit_test(a_stub_without_a_monitor_is_asked_once),
		cmocka_unit_test(exchanges_are_acknowledged),
		cmocka_unit_test(late_acknowledgements_are_waited_for),
		cmocka_unit_test(misbehaviour_ends_in_an_error),
		cmocka_unit_test(a_refused_packet_is_sent_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
