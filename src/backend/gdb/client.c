/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gdb/client.c: see gdb/client.h. */
#include "backend/gdb/client.h"

#include "backend/watchdog.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_RETRIES 3
#define MAX_JUNK    64 /* bytes outside packets before we give up on the peer */
#define MAX_NOTES   64 /* notifications before one packet */
#define ACK_WAIT_NS (20 * US_NS_PER_MS)
#define LATE_ACK_NS (2500 * US_NS_PER_MS) /* a guest may be held for 3 s */

enum parser_state { IDLE, BODY, ESCAPE, RUN, SUM_HIGH, SUM_LOW };

void us_gdb_parser_init(struct us_gdb_parser *p)
{
	p->state = IDLE;
	p->junk = 0;
	p->len = 0;
	p->body[0] = '\0';
}

int us_gdb_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void packet_start(struct us_gdb_parser *p, bool note)
{
	p->state = BODY;
	p->note = note;
	p->broken = false;
	p->sum = 0;
	p->len = 0;
}

static void append(struct us_gdb_parser *p, uint8_t c, unsigned times)
{
	if (times > US_GDB_PACKET - p->len) {
		p->broken = true;
		times = (unsigned)(US_GDB_PACKET - p->len);
	}
	memset(p->body + p->len, c, times);
	p->len += times;
}

/* The count of a run is a printable character: 29 more than the extra copies. */
static void append_run(struct us_gdb_parser *p, uint8_t c)
{
	if (!p->len || c < ' ' || c > '~')
		p->broken = true;
	else
		append(p, (uint8_t)p->body[p->len - 1], c - 29u);
}

static void in_body(struct us_gdb_parser *p, uint8_t c)
{
	if (c == '$') { /* a packet that was never ended: this one counts */
		packet_start(p, false);
		return;
	}
	if (c == '#') {
		p->state = SUM_HIGH;
		return;
	}
	p->sum = (uint8_t)(p->sum + c);
	if (p->state == ESCAPE) {
		append(p, c ^ 0x20, 1);
		p->state = BODY;
	} else if (p->state == RUN) {
		append_run(p, c);
		p->state = BODY;
	} else if (c == '}') {
		p->state = ESCAPE;
	} else if (c == '*') {
		p->state = RUN;
	} else {
		append(p, c, 1);
	}
}

static enum us_gdb_event packet_end(struct us_gdb_parser *p, uint8_t c)
{
	int low = us_gdb_hex((char)c);
	p->state = IDLE;
	p->body[p->len] = '\0';
	if (p->broken || low < 0 || (p->said << 4 | low) != p->sum)
		return US_GDB_BAD;
	p->junk = 0;
	return p->note ? US_GDB_NOTE : US_GDB_PACKET_END;
}

static enum us_gdb_event outside(struct us_gdb_parser *p, uint8_t c)
{
	switch (c) {
	case '+':
		return US_GDB_ACK;
	case '-':
		return US_GDB_NAK;
	case '$':
	case '%':
		packet_start(p, c == '%');
		break;
	default:
		p->junk++;
	}
	return US_GDB_MORE;
}

enum us_gdb_event us_gdb_parse(struct us_gdb_parser *p, const uint8_t **at,
			       const uint8_t *end)
{
	enum us_gdb_event event = US_GDB_MORE;
	while (*at < end && event == US_GDB_MORE) {
		uint8_t c = *(*at)++;
		int high;
		switch (p->state) {
		case IDLE:
			event = outside(p, c);
			break;
		case SUM_HIGH:
			high = us_gdb_hex((char)c);
			p->broken |= high < 0;
			p->said = (uint8_t)(high & 15);
			p->state = SUM_LOW;
			break;
		case SUM_LOW:
			event = packet_end(p, c);
			break;
		default:
			in_body(p, c);
		}
	}
	return event;
}

enum us_gdb_stop us_gdb_stop_kind(const char *body, size_t len)
{
	if (len < 3 || us_gdb_hex(body[1]) < 0 || us_gdb_hex(body[2]) < 0)
		return US_GDB_NOT_STOP;
	if (body[0] == 'T' || (body[0] == 'S' && len == 3))
		return US_GDB_STOPPED;
	return body[0] == 'W' || body[0] == 'X' ? US_GDB_GONE : US_GDB_NOT_STOP;
}

void us_gdb_init(struct us_gdb *g, int fd)
{
	memset(g, 0, sizeof(*g));
	us_gdb_parser_init(&g->parser);
	g->fd = fd;
	int flags = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

void us_gdb_fini(struct us_gdb *g)
{
	if (g->fd >= 0)
		close(g->fd);
	g->fd = -1;
}

static int failed(struct us_gdb *g, int code, const char *why)
{
	g->why = why;
	return code;
}

/* What was sent last stays in out until more is put, in case of a NAK. */
static void compose(struct us_gdb *g)
{
	if (!g->flushed)
		return;
	g->flushed = false;
	g->out_len = 0;
	g->out_packets = 0;
}

void us_gdb_put_break(struct us_gdb *g)
{
	compose(g);
	if (g->out_len + 2 > sizeof(g->out))
		return;
	/* While QEMU waits for an acknowledgement, it discards everything else. */
	if (g->owe)
		g->out[g->out_len++] = '+';
	g->owe = false;
	g->out[g->out_len++] = '\x03';
}

int us_gdb_put(struct us_gdb *g, const char *body)
{
	static const char digit[] = "0123456789abcdef";
	size_t len = strlen(body);
	compose(g);
	if (len + 5 > sizeof(g->out) - g->out_len)
		return failed(g, -E2BIG, "the command is too long");
	char *p = g->out + g->out_len;
	uint8_t sum = 0;
	if (g->owe)
		*p++ = '+';
	g->owe = false;
	*p++ = '$';
	for (size_t i = 0; i < len; i++)
		sum = (uint8_t)(sum + (uint8_t)body[i]);
	memcpy(p, body, len);
	p += len;
	*p++ = '#';
	*p++ = digit[sum >> 4];
	*p++ = digit[sum & 15];
	g->out_len = (size_t)(p - g->out);
	g->out_packets++;
	return 0;
}

/* Wait for the socket; 0, -ETIMEDOUT.  A signal does not interrupt an exchange. */
static int await(struct us_gdb *g, short events, uint64_t deadline_ns)
{
	for (;;) {
		uint64_t now = us_now_ns();
		if (now >= deadline_ns)
			return failed(g, -ETIMEDOUT, "it does not answer");
		uint64_t left = deadline_ns - now;
		struct timespec t = { .tv_sec = (time_t)(left / US_NS_PER_SEC),
				      .tv_nsec = (long)(left % US_NS_PER_SEC) };
		struct pollfd p = { .fd = g->fd, .events = events };
		int n = ppoll(&p, 1, &t, NULL);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return failed(g, -errno, "waiting for it failed");
	}
}

/* Checked at each system call, not once per exchange: if we are delayed in the middle
 * of one, the watchdog may have stepped in. */
static int may_speak(struct us_gdb *g)
{
	if (g->watchdog && us_watchdog_fired(g->watchdog))
		return failed(g, -ECONNRESET, "the watchdog had to resume the guest");
	return 0;
}

static int send_bytes(struct us_gdb *g, const char *p, size_t len, uint64_t deadline_ns)
{
	while (len) {
		if (may_speak(g))
			return -ECONNRESET;
		ssize_t n = send(g->fd, p, len, MSG_NOSIGNAL);
		if (n >= 0) {
			p += n;
			len -= (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return failed(g, -ECONNRESET, "it closed the connection");
		int r = await(g, POLLOUT, deadline_ns);
		if (r < 0)
			return r;
	}
	return 0;
}

int us_gdb_flush(struct us_gdb *g, uint64_t deadline_ns)
{
	g->flushed = true;
	g->sent = g->no_ack ? 0 : g->out_packets;
	g->naks = 0;
	return send_bytes(g, g->out, g->out_len, deadline_ns);
}

static int receive(struct us_gdb *g, uint64_t deadline_ns)
{
	for (;;) {
		if (may_speak(g))
			return -ECONNRESET;
		ssize_t n = recv(g->fd, g->in, sizeof(g->in), 0);
		if (n > 0) {
			g->in_at = 0;
			g->in_len = (size_t)n;
			return 0;
		}
		if (n == 0)
			return failed(g, -ECONNRESET, "it closed the connection");
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return failed(g, -ECONNRESET, "it broke the connection");
		g->waits++;
		int r = await(g, POLLIN, deadline_ns);
		if (r < 0)
			return r;
	}
}

/* A pipelined batch is not repeated: parts of it may have been carried out. */
static int send_again(struct us_gdb *g, uint64_t deadline_ns)
{
	if (!g->sent)
		return 0;
	if (++g->naks > MAX_RETRIES || g->out_packets != 1)
		return failed(g, -EPROTO, "it refuses every packet");
	const char *packet = memchr(g->out, '$', g->out_len);
	size_t skip = (size_t)(packet - g->out);
	return send_bytes(g, packet, g->out_len - skip, deadline_ns);
}

static int ask_again(struct us_gdb *g, uint64_t deadline_ns)
{
	if (++g->bad > MAX_RETRIES)
		return failed(g, -EPROTO,
			      "its packets have wrong checksums or lengths");
	return g->no_ack ? 0 : send_bytes(g, "-", 1, deadline_ns);
}

/* One event, with acknowledgements and repeats handled; enum us_gdb_event or -errno. */
static int step(struct us_gdb *g, uint64_t deadline_ns)
{
	if (g->in_at == g->in_len) {
		int r = receive(g, deadline_ns);
		if (r < 0)
			return r;
	}
	const uint8_t *at = g->in + g->in_at;
	int event = us_gdb_parse(&g->parser, &at, g->in + g->in_len);
	int r = 0;
	g->in_at = (size_t)(at - g->in);
	if (g->parser.junk > MAX_JUNK)
		return failed(g, -EPROTO, "it does not speak the GDB remote protocol");
	if (event == US_GDB_ACK && g->sent)
		g->sent--;
	else if (event == US_GDB_NAK)
		r = send_again(g, deadline_ns);
	else if (event == US_GDB_BAD)
		r = ask_again(g, deadline_ns);
	else if (event == US_GDB_PACKET_END)
		g->bad = 0, g->owe = !g->no_ack;
	return r < 0 ? r : event;
}

/* A peer that never stops sending is limited by time too, or by volume if we may not
 * wait at all. */
static bool enough(unsigned events, uint64_t deadline_ns)
{
	if (!deadline_ns)
		return events > 4 * sizeof(((struct us_gdb *)0)->in);
	return events % 256 == 255 && us_now_ns() > deadline_ns;
}

int us_gdb_get(struct us_gdb *g, uint64_t deadline_ns)
{
	if (g->pending) {
		g->pending = false;
		return 0;
	}
	for (unsigned events = 0, notes = 0; !enough(events, deadline_ns); events++) {
		int r = step(g, deadline_ns);
		if (r < 0)
			return r;
		if (r == US_GDB_PACKET_END)
			return 0;
		if (r == US_GDB_NOTE && ++notes > MAX_NOTES)
			return failed(g, -EPROTO, "it sends nothing but notifications");
	}
	return failed(g, -ETIMEDOUT, "it keeps sending, but does not answer");
}

bool us_gdb_answers_later(struct us_gdb *g, unsigned after)
{
	if (g->no_ack || g->sent >= after)
		return false;
	g->pending = true;
	return true;
}

int us_gdb_wait_ack(struct us_gdb *g)
{
	uint64_t deadline_ns = us_now_ns() + (g->acks ? LATE_ACK_NS : ACK_WAIT_NS);
	for (unsigned events = 0; g->sent && !g->silent && !g->pending; events++) {
		int r = enough(events, deadline_ns) ? -ETIMEDOUT : step(g, deadline_ns);
		if (r == -ETIMEDOUT && !g->acks)
			g->silent = true;
		else if (r < 0)
			return r;
		g->pending = r == US_GDB_PACKET_END;
	}
	return 0;
}

int us_gdb_ask(struct us_gdb *g, const char *body, uint64_t deadline_ns)
{
	int r = us_gdb_put(g, body);
	if (r == 0)
		r = us_gdb_flush(g, deadline_ns);
	return r < 0 ? r : us_gdb_get(g, deadline_ns);
}

int us_gdb_ask_explain(struct us_gdb *g, const char *body, uint64_t deadline_ns,
		       struct us_err *e)
{
	int r = us_gdb_ask(g, body, deadline_ns);
	return r < 0 ? us_fail(e, r, "asking the stub \"%.40s\": %s", body, g->why) : 0;
}

int us_gdb_ask_monitor(struct us_gdb *g, const char *line, char *text, size_t size,
		       uint64_t deadline_ns)
{
	char command[128] = "qRcmd,";
	size_t at = 6, n = 0;
	for (const char *p = line; *p && at + 3 < sizeof(command); p++)
		at += (size_t)snprintf(command + at, 3, "%02x", (unsigned char)*p);
	int r = us_gdb_ask(g, command, deadline_ns);
	text[0] = '\0';
	/* QEMU sends one packet per line, some fifty for each vCPU. */
	for (size_t i = 0; r == 0 && i < size; i++) {
		if (us_gdb_said(g, "OK"))
			return 0;
		if (us_gdb_stop_kind(g->parser.body, g->parser.len) == US_GDB_STOPPED)
			return failed(g, -EAGAIN, "somebody else resumed the guest");
		if (g->parser.body[0] != 'O')
			return -ENOTSUP;
		for (const char *p = g->parser.body + 1; p[0] && p[1]; p += 2)
			if (n + 1 < size)
				text[n++] = (char)((us_gdb_hex(p[0]) & 15) << 4 |
						   (us_gdb_hex(p[1]) & 15));
		text[n] = '\0';
		r = us_gdb_get(g, deadline_ns);
	}
	return r < 0 ? r : failed(g, -EPROTO, "the output of its monitor does not end");
}

bool us_gdb_said(const struct us_gdb *g, const char *text)
{
	return g->parser.len == strlen(text) &&
	       !memcmp(g->parser.body, text, g->parser.len);
}

bool us_gdb_said_error(const struct us_gdb *g)
{
	const char *s = g->parser.body;
	if (s[0] != 'E')
		return false;
	return s[1] == '.' ||
	       (g->parser.len == 3 && us_gdb_hex(s[1]) >= 0 && us_gdb_hex(s[2]) >= 0);
}
