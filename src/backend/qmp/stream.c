/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qmp/stream.c: see qmp/stream.h. */
#include "backend/qmp/stream.h"

#include "backend/qmp/reply.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define MAX_MESSAGES 1000 /* without a pause, if we are not to wait */

static int failed(struct us_qmp_stream *s, int code, const char *why)
{
	s->why = why;
	return code;
}

void us_qmp_stream_reset(struct us_qmp_stream *s)
{
	s->from = s->to = 0;
	s->framer = (struct us_qmp_framer){ 0 };
}

static int await(struct us_qmp_stream *s, short events, uint64_t deadline_ns)
{
	uint64_t now = us_now_ns();
	if (now >= deadline_ns)
		return failed(s, -ETIMEDOUT, "it does not answer");
	uint64_t left = deadline_ns - now;
	struct timespec t = { .tv_sec = (time_t)(left / US_NS_PER_SEC),
			      .tv_nsec = (long)(left % US_NS_PER_SEC) };
	struct pollfd p = { .fd = s->fd, .events = events };
	int n = ppoll(&p, 1, &t, NULL);
	return n > 0 ? 0 : n < 0 ? -errno : -ETIMEDOUT;
}

int us_qmp_stream_poll(struct us_qmp_stream *s, uint64_t deadline_ns)
{
	return await(s, POLLIN, deadline_ns);
}

int us_qmp_stream_send(struct us_qmp_stream *s, const char *text, uint64_t deadline_ns)
{
	size_t len = strlen(text);
	while (len) {
		ssize_t n = send(s->fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0) {
			text += n;
			len -= (size_t)n;
			continue;
		}
		int r = errno == EAGAIN ? await(s, POLLOUT, deadline_ns) : -errno;
		if (r == -ETIMEDOUT)
			return failed(s, r, "it takes no command");
		if (r < 0 && r != -EINTR)
			return failed(s, -ECONNRESET, "it closed the connection");
	}
	return 0;
}

static int receive(struct us_qmp_stream *s, uint64_t deadline_ns)
{
	if (s->from == s->to)
		s->from = s->to = 0;
	if (s->to == s->size && s->from) {
		memmove(s->buf, s->buf + s->from, s->to - s->from);
		s->to -= s->from;
		s->from = 0;
	}
	if (s->to == s->size)
		return failed(s, -EPROTO, "its reply is too long");
	for (;;) {
		ssize_t n = recv(s->fd, s->buf + s->to, s->size - s->to, MSG_DONTWAIT);
		if (n > 0) {
			s->to += (size_t)n;
			return 0;
		}
		if (n == 0)
			return failed(s, -ECONNRESET, "it closed the connection");
		int r = errno == EAGAIN ? await(s, POLLIN, deadline_ns) : -errno;
		if (r == -ETIMEDOUT)
			return failed(s, r, "it does not answer");
		if (r < 0 && r != -EINTR)
			return failed(s, -ECONNRESET, "it broke the connection");
	}
}

/* The next whole message is [from, from + framer.at). */
static int frame(struct us_qmp_stream *s, uint64_t deadline_ns)
{
	for (;;) {
		int r = us_qmp_frame(&s->framer, s->buf + s->from, s->to - s->from);
		if (r < 0)
			return failed(s, r, "it sends what is no QMP message");
		if (r > 0)
			return 0;
		r = receive(s, deadline_ns);
		if (r < 0)
			return r;
	}
}

int us_qmp_stream_next(struct us_qmp_stream *s, uint64_t deadline_ns,
		       const char **ret_value, size_t *ret_len)
{
	for (unsigned i = 0; i < MAX_MESSAGES; i++) {
		int r = frame(s, deadline_ns);
		if (r < 0)
			return r;
		const char *msg = s->buf + s->from;
		enum us_qmp_kind kind = us_qmp_scan(msg, s->framer.at, ret_value,
						    ret_len);
		s->from += s->framer.at;
		s->framer = (struct us_qmp_framer){ 0 };
		if (kind != US_QMP_STRANGE)
			return kind;
		if (deadline_ns && us_now_ns() > deadline_ns)
			return failed(s, -ETIMEDOUT, "it answers with something else");
	}
	return failed(s, -EPROTO, "it answers with something else");
}

void us_qmp_stream_wait(struct us_qmp_stream *s, const char *text, uint64_t deadline_ns)
{
	size_t len = strlen(text);
	while (!memmem(s->buf, s->to, text, len)) {
		/* Keep what may be the text's beginning. */
		size_t keep = s->to < len ? s->to : len;
		memmove(s->buf, s->buf + s->to - keep, keep);
		s->to = keep;
		s->from = 0;
		if (receive(s, deadline_ns) < 0 || us_now_ns() >= deadline_ns)
			return;
	}
}
