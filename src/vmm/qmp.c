/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qmp.c: see qmp.h. */
#include "vmm/qmp.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "vmm/qmp_parse.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define GREETING_MS 2000
#define COMMAND_MS  5000
#define FIRST_BUF   8192

struct us_qmp {
	int fd;
	int broken; /* -EPROTO or -ECONNRESET once the stream cannot be trusted */
	char name[160];
	unsigned next_id;
	char *buf; /* received: [from, to) is not yet consumed */
	size_t from, to, cap;
	struct us_qmp_framer framer; /* of the message that begins at from */
	size_t budget;		     /* bytes that the current command may still cost */
};

static int fail_strange(struct us_qmp *q, const char *what, struct us_err *e)
{
	char head[64], shown[64];
	size_t n = q->to - q->from;
	if (n >= sizeof(head))
		n = sizeof(head) - 1;
	if (n)
		memcpy(head, q->buf + q->from, n);
	head[n] = '\0';
	q->broken = -EPROTO;
	us_fail(e, -EPROTO, "talk QMP to %s: %s; it sent \"%s\"", q->name, what,
		us_printable(shown, sizeof(shown), head));
	us_hint(e, "-qmp unix:PATH,server=on,wait=off makes a QMP monitor (-monitor "
		   "makes one for humans)");
	return -EPROTO;
}

static int fail_gone(struct us_qmp *q, int code, struct us_err *e)
{
	q->broken = -ECONNRESET;
	return us_fail(e, -ECONNRESET, "talk QMP to %s: the connection is gone: %s",
		       q->name, code ? strerror(-code) : "the peer closed it");
}

static int fail_timeout(struct us_qmp *q, const char *command, struct us_err *e)
{
	if (!command) {
		us_fail(e, -EBUSY, "talk QMP to %s: no greeting within %d s", q->name,
			GREETING_MS / 1000);
		us_hint(e,
			"a monitor serves one client at a time, and another may hold "
			"it: give QEMU one more -qmp, or use another backend");
		return -EBUSY;
	}
	us_fail(e, -ETIMEDOUT, "run '%s' on %s: no reply within %d s", command, q->name,
		COMMAND_MS / 1000);
	us_hint(e,
		"QEMU may be stopped or overloaded: try again, or another --backend");
	return -ETIMEDOUT;
}

/* Wait for events on the socket; 0, or -ETIMEDOUT at the deadline. */
static int wait_until(int fd, short events, uint64_t deadline_ns)
{
	for (;;) {
		uint64_t now = us_now_ns();
		if (now >= deadline_ns)
			return -ETIMEDOUT;
		struct pollfd p = { .fd = fd, .events = events };
		int r = poll(&p, 1, (int)((deadline_ns - now) / US_NS_PER_MS) + 1);
		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return -errno;
	}
}

/* Room for more bytes after to; the unread ones move to the front if need be. */
static int make_room(struct us_qmp *q)
{
	if (q->from == q->to)
		q->from = q->to = 0;
	if (q->to < q->cap)
		return 0;
	if (q->from > q->cap / 2) {
		memmove(q->buf, q->buf + q->from, q->to - q->from);
		q->to -= q->from;
		q->from = 0;
		return 0;
	}
	size_t cap = q->cap ? q->cap * 2 : FIRST_BUF;
	char *buf = realloc(q->buf, cap);
	if (!buf)
		return -ENOMEM;
	q->buf = buf;
	q->cap = cap;
	return 0;
}

/* Receive some bytes.  -ETIMEDOUT, -ENOMEM, -ECONNRESET, -EPROTO (too much). */
static int receive(struct us_qmp *q, uint64_t deadline_ns, struct us_err *e)
{
	int r = make_room(q);
	if (r < 0)
		return us_fail(e, r, "talk QMP to %s: out of memory", q->name);
	r = wait_until(q->fd, POLLIN, deadline_ns);
	if (r == -ETIMEDOUT)
		return r;
	ssize_t n = r < 0 ? r
			  : recv(q->fd, q->buf + q->to, q->cap - q->to, MSG_DONTWAIT);
	if (n < 0 && r == 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return fail_gone(q, n == 0 ? 0 : r < 0 ? r : -errno, e);
	if ((size_t)n > q->budget)
		return fail_strange(q, "more than 16 MiB in reply to one command", e);
	q->budget -= (size_t)n;
	q->to += (size_t)n;
	return 0;
}

/* The next message, of any kind; *ret is a new reference. */
static int next_message(struct us_qmp *q, uint64_t deadline_ns, enum us_qmp_kind *kind,
			json_t **ret, struct us_err *e)
{
	for (;;) {
		int r = q->to > q->from ? us_qmp_frame(&q->framer, q->buf + q->from,
						       q->to - q->from)
					: 0;
		if (r < 0)
			return fail_strange(q, "it is no JSON object", e);
		if (r > 0) {
			size_t n = q->framer.at;
			if (us_qmp_parse(q->buf + q->from, n, kind, ret) < 0)
				return fail_strange(q, "it is no valid JSON", e);
			if (*kind == US_QMP_STRANGE) {
				json_decref(*ret);
				return fail_strange(q, "it is no QMP message", e);
			}
			q->from += n;
			q->framer = (struct us_qmp_framer){ 0 };
			return 0;
		}
		r = receive(q, deadline_ns, e);
		if (r < 0)
			return r;
	}
}

static int send_all(struct us_qmp *q, const char *text, size_t len,
		    uint64_t deadline_ns, struct us_err *e)
{
	while (len) {
		ssize_t n = send(q->fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN) {
			int r = wait_until(q->fd, POLLOUT, deadline_ns);
			if (r == -ETIMEDOUT)
				/* Half a command was sent: nothing can follow it. */
				return fail_gone(q, -ETIMEDOUT, e);
			if (r < 0)
				return fail_gone(q, r, e);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_gone(q, -errno, e);
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/* {"execute":...,"id":...} with its newline; the caller frees it. */
static char *command_text(const char *command, json_t *arguments, unsigned id)
{
	json_t *msg = json_pack("{s:s, s:i}", "execute", command, "id", (int)id);
	if (!msg || (arguments && json_object_set(msg, "arguments", arguments) < 0)) {
		json_decref(msg);
		return NULL;
	}
	size_t n = json_dumpb(msg, NULL, 0, JSON_COMPACT);
	char *text = malloc(n + 2);
	if (text) {
		json_dumpb(msg, text, n, JSON_COMPACT);
		memcpy(text + n, "\n", 2);
	}
	json_decref(msg);
	return text;
}

/* Does this reply belong to command id?  An error without an id does: QEMU could not
 * even parse the command. */
static bool answers(const json_t *msg, unsigned id)
{
	const json_t *v = json_object_get(msg, "id");
	return !v || (json_is_integer(v) && json_integer_value(v) == (json_int_t)id);
}

static int wait_reply(struct us_qmp *q, const char *command, unsigned id,
		      uint64_t deadline_ns, json_t **ret, struct us_err *e)
{
	for (;;) {
		enum us_qmp_kind kind;
		json_t *msg;
		int r = next_message(q, deadline_ns, &kind, &msg, e);
		if (r == -ETIMEDOUT)
			return fail_timeout(q, command, e);
		if (r < 0)
			return r;
		bool ours = (kind == US_QMP_RETURN || kind == US_QMP_ERROR) &&
			    answers(msg, id);
		if (ours && kind == US_QMP_ERROR) {
			char shown[256];
			json_t *desc = json_object_get(json_object_get(msg, "error"),
						       "desc");
			us_printable(shown, sizeof(shown), json_string_value(desc));
			us_fail(e, -EREMOTEIO, "run '%s' on %s: QEMU says: %s", command,
				q->name, shown);
			json_decref(msg);
			return -EREMOTEIO;
		}
		if (ours && ret)
			*ret = json_incref(json_object_get(msg, "return"));
		json_decref(msg);
		if (ours)
			return 0;
		/* Events, and a late reply to a command that timed out. */
		if (us_now_ns() >= deadline_ns)
			return fail_timeout(q, command, e);
	}
}

int us_qmp_run(struct us_qmp *q, const char *command, json_t *arguments, json_t **ret,
	       struct us_err *e)
{
	if (q->broken) {
		json_decref(arguments);
		return us_fail(e, q->broken, "run '%s' on %s: %s", command, q->name,
			       q->broken == -EPROTO ? "it does not speak QMP"
						    : "the connection is gone");
	}
	/* Ten ids are enough to recognize a late reply, and they are short. */
	unsigned id = q->next_id++ % 10;
	_cleanup_free_ char *text = command_text(command, arguments, id);
	json_decref(arguments);
	if (!text)
		return us_fail(e, -ENOMEM, "run '%s' on %s: out of memory", command,
			       q->name);
	uint64_t deadline = us_now_ns() + COMMAND_MS * US_NS_PER_MS;
	q->budget = US_QMP_MAX_BYTES;
	int r = send_all(q, text, strlen(text), deadline, e);
	return r < 0 ? r : wait_reply(q, command, id, deadline, ret, e);
}

int us_qmp_human(struct us_qmp *q, const char *line, int cpu_index, char *text,
		 size_t size, struct us_err *e)
{
	json_t *args = cpu_index < 0 ? json_pack("{s:s}", "command-line", line)
				     : json_pack("{s:s, s:i}", "command-line", line,
						 "cpu-index", cpu_index);
	if (!args)
		return us_fail(e, -ENOMEM, "run '%s' on %s: out of memory", line,
			       q->name);
	json_t *reply;
	int r = us_qmp_run(q, "human-monitor-command", args, &reply, e);
	if (r < 0)
		return us_wrap(e, "'%s'", line), r;
	const char *s = json_string_value(reply);
	if (s)
		snprintf(text, size, "%s", s);
	json_decref(reply);
	if (s)
		return 0;
	q->broken = -EPROTO;
	return us_fail(e, -EPROTO, "run '%s' on %s: the reply is no text", line,
		       q->name);
}

static bool offers_oob(const json_t *greeting)
{
	const json_t *v, *list = json_object_get(json_object_get(greeting, "QMP"),
						 "capabilities");
	size_t i;
	json_array_foreach(list, i,
			   v) if (json_string_value(v) &&
				  !strcmp(json_string_value(v), "oob")) return true;
	return false;
}

/* Out-of-band commands are not used here, but a monitor that offers them reads the next
 * command while the previous one runs. */
static int negotiate(struct us_qmp *q, bool oob, struct us_err *e)
{
	int r = oob ? us_qmp_run(q, "qmp_capabilities",
				 json_pack("{s:[s]}", "enable", "oob"), NULL, e)
		    : -EREMOTEIO;
	return r == -EREMOTEIO ? us_qmp_run(q, "qmp_capabilities", NULL, NULL, e) : r;
}

/*
 * The first message.  QEMU accepts a client before its monitor knows of it.  Events in
 * between (a guest that resumes as another client leaves) come before the greeting.
 */
static int wait_greeting(struct us_qmp *q, enum us_qmp_kind *kind, json_t **ret,
			 struct us_err *e)
{
	uint64_t deadline_ns = us_now_ns() + GREETING_MS * US_NS_PER_MS;
	q->budget = US_QMP_MAX_BYTES;
	for (;;) {
		int r = next_message(q, deadline_ns, kind, ret, e);
		if (r < 0 || *kind != US_QMP_EVENT)
			return r;
		json_decref(*ret);
	}
}

static int greet(struct us_qmp *q, struct us_err *e)
{
	enum us_qmp_kind kind;
	json_t *msg;
	int r = wait_greeting(q, &kind, &msg, e);
	if (r == -ETIMEDOUT)
		return q->to > q->from
			       ? fail_strange(
					 q, "it stopped in the middle of a message", e)
			       : fail_timeout(q, NULL, e);
	if (r < 0)
		return r;
	bool oob = offers_oob(msg);
	json_decref(msg);
	if (kind != US_QMP_GREETING)
		return fail_strange(q, "its first message is no greeting", e);
	return negotiate(q, oob, e);
}

/* A GDB stub stops its guest as a client connects, and says so with a packet. */
static bool is_stub(const struct us_qmp *q)
{
	size_t i = q->from;
	while (i < q->to && q->buf[i] == '+')
		i++;
	return q->to - i >= 2 && q->buf[i] == '$' &&
	       (q->buf[i + 1] == 'T' || q->buf[i + 1] == 'S');
}

/*
 * QEMU's stub does not resume the guest as the client only closes.  The "OK" is not
 * acknowledged: the guest runs then, and the stub takes a byte for a request to stop.
 */
static bool detach_stub(struct us_qmp *q)
{
	static const char detach[] = "+$D#44", done[] = "$OK#9a";
	uint64_t deadline_ns = us_now_ns() + GREETING_MS * US_NS_PER_MS;
	q->budget = FIRST_BUF;
	if (send_all(q, detach, strlen(detach), deadline_ns, NULL) < 0)
		return false;
	while (!memmem(q->buf + q->from, q->to - q->from, done, strlen(done)))
		if (us_now_ns() >= deadline_ns || receive(q, deadline_ns, NULL) < 0)
			return false;
	return true;
}

static void leave_stub(struct us_qmp *q, struct us_err *e)
{
	if (detach_stub(q))
		us_hint(e, "it is a GDB stub, and the guest runs on: name it as gdb:%s",
			q->name);
	else
		us_hint(e,
			"it is a GDB stub, and may have stopped the guest: say "
			"'cont' in its monitor, and name the stub as gdb:%s",
			q->name);
}

static int open_named(int fd, const char *name, struct us_qmp **ret, struct us_err *e)
{
	struct us_qmp *q = calloc(1, sizeof(*q));
	if (!q) {
		close(fd);
		return us_fail(e, -ENOMEM, "talk QMP to %s: out of memory", name);
	}
	q->fd = fd;
	us_printable(q->name, sizeof(q->name), name);
	int r = greet(q, e);
	if (r == -EPROTO && is_stub(q))
		leave_stub(q, e);
	if (r < 0)
		us_qmp_close(q);
	else
		*ret = q;
	return r;
}

int us_qmp_open(const char *endpoint, struct us_qmp **ret, struct us_err *e)
{
	if (!strncmp(endpoint, "qmp:", 4))
		endpoint += 4;
	int fd = us_socket_connect(endpoint, GREETING_MS, e);
	if (fd < 0)
		return fd;
	return open_named(fd, endpoint, ret, e);
}

int us_qmp_open_fd(int fd, struct us_qmp **ret, struct us_err *e)
{
	return open_named(fd, "the given socket", ret, e);
}

void us_qmp_close(struct us_qmp *q)
{
	if (!q)
		return;
	close(q->fd);
	free(q->buf);
	free(q);
}

int us_qmp_fd(const struct us_qmp *q)
{
	return q->fd;
}
