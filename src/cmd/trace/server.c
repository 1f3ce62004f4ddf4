/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/trace/server.c: see cmd/trace/server.h. */
#include "cmd/trace/server.h"

#include "cmd/trace/text.h"
#include "http/server.h"
#include "trace/events_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLOSE_MS 1000

struct us_trace_server {
	const struct us_trace_served *of;
	struct us_http *http;
	atomic_bool over;
	pthread_mutex_t names; /* for the symbols */
	pthread_mutex_t lock;  /* for the fields below */
	struct us_trace_text text[US_TRACE_TEXTS];
	bool used[US_TRACE_TEXTS];
};

/* ---- What Nanos's ftrace has under /ftrace/ ---- */

static void say_not_yet(struct us_http_reply *r, const struct us_err *e)
{
	us_http_say(r, 503, "%s\n",
		    e->code == -ENOENT ? "the guest is being started" : e->msg);
}

static void index_page(void *ctx, const struct us_http_request *q,
		       struct us_http_reply *r)
{
	const struct us_trace_server *s = ctx;
	(void)q;
	us_http_say(
		r, 200,
		"uniscope trace of %s\n\n"
		"/ftrace/trace             what is in memory, as text\n"
		"/ftrace/trace_pipe        what comes from now on, until the end\n"
		"/ftrace/tracing_on        0 or 1; PUT or POST one of them to switch\n"
		"/ftrace/available_tracers\n"
		"/ftrace/current_tracer\n"
		"/ftrace/trace_clock\n"
		"/ftrace/tracing_enable/on, off: switch, as Nanos has it\n",
		s->of->title);
}

static void available_tracers(void *ctx, const struct us_http_request *q,
			      struct us_http_reply *r)
{
	(void)ctx, (void)q;
	us_http_say(r, 200, "nop function_graph\n");
}

static void current_tracer(void *ctx, const struct us_http_request *q,
			   struct us_http_reply *r)
{
	(void)ctx, (void)q;
	us_http_say(r, 200, "function_graph\n");
}

static void trace_clock(void *ctx, const struct us_http_request *q,
			struct us_http_reply *r)
{
	const struct us_trace_server *s = ctx;
	struct us_events_file f;
	struct us_err e = { 0 };
	(void)q;
	if (us_events_open(s->of->path, &f, &e)) {
		say_not_yet(r, &e);
		return;
	}
	us_http_say(r, 200, "%s\n", f.head.has_time ? "mono" : "instructions");
	us_events_close(&f);
}

/* Switch on (1) or off (0), or with a negative value only reply what it is. */
static void switch_to(const struct us_trace_server *s, int to, struct us_http_reply *r)
{
	struct us_events_file f;
	struct us_err e = { 0 };
	if (us_events_open(s->of->path, &f, &e)) {
		say_not_yet(r, &e);
		return;
	}
	if (to >= 0)
		us_events_switch(f.map, to);
	uint32_t epoch = __atomic_load_n(&f.map->epoch, __ATOMIC_RELAXED);
	us_http_say(r, 200, "%d\n", epoch != 0);
	us_events_close(&f);
}

static void tracing_on(void *ctx, const struct us_http_request *q,
		       struct us_http_reply *r)
{
	static const char *const words[] = { "0", "1" };
	size_t n = strcspn(q->body, "\r\n");
	int to = -1;
	for (int i = 0; i < 2 && q->method != US_HTTP_GET; i++)
		if (n == 1 && q->body[0] == words[i][0])
			to = i;
	if (q->method != US_HTTP_GET && to < 0)
		us_http_say(r, 400, "the body must be 0 or 1\n");
	else
		switch_to(ctx, to, r);
}

static void enable_on(void *ctx, const struct us_http_request *q,
		      struct us_http_reply *r)
{
	(void)q;
	switch_to(ctx, 1, r);
}

static void enable_off(void *ctx, const struct us_http_request *q,
		       struct us_http_reply *r)
{
	(void)q;
	switch_to(ctx, 0, r);
}

/* ---- Texts ---- */

/* A text that nobody uses, or -1.  The lock is held. */
static int free_text(struct us_trace_server *s)
{
	for (int i = 0; i < US_TRACE_TEXTS; i++) {
		if (s->used[i] && atomic_load(&s->text[i].done)) {
			pthread_join(s->text[i].thread, NULL);
			s->used[i] = false;
		}
		if (!s->used[i])
			return i;
	}
	return -1;
}

static int start_text(struct us_trace_server *s, int i, bool follow,
		      struct us_http_reply *r)
{
	int fd[2];
	struct us_err e = { 0 };
	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	s->text[i] = (struct us_trace_text){ .path = s->of->path,
					     .symbols = s->of->symbols,
					     .lock = &s->names,
					     .over = &s->over,
					     .insn_ns = s->of->insn_ns,
					     .follow = follow,
					     .to = fd[1] };
	int rc = us_trace_text_start(&s->text[i], &e);
	if (rc) {
		close(fd[0]);
		close(fd[1]);
		return rc;
	}
	s->used[i] = true;
	r->fd = fd[0];
	r->endless = follow;
	return 0;
}

static void text(struct us_trace_server *s, bool follow, struct us_http_reply *r)
{
	struct us_events_file f;
	struct us_err e = { 0 };
	if (us_events_open(s->of->path, &f, &e)) {
		say_not_yet(r, &e);
		return;
	}
	us_events_close(&f);
	pthread_mutex_lock(&s->lock);
	int i = atomic_load(&s->over) ? -1 : free_text(s);
	if (i < 0)
		us_http_say(r, 503, "%d clients are reading already\n", US_TRACE_TEXTS);
	else if (start_text(s, i, follow, r))
		us_http_say(r, 503, "there are no more files or threads\n");
	pthread_mutex_unlock(&s->lock);
}

static void trace(void *ctx, const struct us_http_request *q, struct us_http_reply *r)
{
	(void)q;
	text(ctx, false, r);
}

static void trace_pipe(void *ctx, const struct us_http_request *q,
		       struct us_http_reply *r)
{
	(void)q;
	text(ctx, true, r);
}

#define SWITCH (US_HTTP_PUT | US_HTTP_POST)

static const struct us_http_route routes[] = {
	{ "/", US_HTTP_GET, 0, index_page },
	{ "/ftrace", US_HTTP_GET, 0, index_page },
	{ "/ftrace/", US_HTTP_GET, 0, index_page },
	{ "/ftrace/trace", US_HTTP_GET, 0, trace },
	{ "/ftrace/trace_pipe", US_HTTP_GET, 0, trace_pipe },
	{ "/ftrace/tracing_on", US_HTTP_GET | SWITCH, SWITCH, tracing_on },
	{ "/ftrace/tracing_enable/on", US_HTTP_GET, US_HTTP_GET, enable_on },
	{ "/ftrace/tracing_enable/off", US_HTTP_GET, US_HTTP_GET, enable_off },
	{ "/ftrace/available_tracers", US_HTTP_GET, 0, available_tracers },
	{ "/ftrace/current_tracer", US_HTTP_GET, 0, current_tracer },
	{ "/ftrace/trace_clock", US_HTTP_GET, 0, trace_clock },
	{ 0 },
};

/* ---- The server ---- */

int us_trace_server_open(const char *address, const struct us_trace_served *of,
			 struct us_trace_server **ret, struct us_err *e)
{
	struct us_trace_server *s = calloc(1, sizeof(*s));
	*ret = s;
	if (!s)
		return us_fail(e, -ENOMEM, "listen: out of memory");
	s->of = of;
	pthread_mutex_init(&s->names, NULL);
	pthread_mutex_init(&s->lock, NULL);
	int rc = us_http_open(address, routes, NULL, s, &s->http, e);
	if (rc) {
		us_trace_server_close(s);
		*ret = NULL;
	}
	return rc;
}

int us_trace_server_run(struct us_trace_server *s, struct us_err *e)
{
	return us_http_run(s->http, e);
}

const char *us_trace_server_url(const struct us_trace_server *s)
{
	return us_http_url(s->http);
}

bool us_trace_server_is_loopback(const struct us_trace_server *s)
{
	return us_http_is_loopback(s->http);
}

void us_trace_server_close(struct us_trace_server *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->over, true);
	pthread_mutex_unlock(&s->lock);
	us_http_close(s->http, CLOSE_MS);
	for (int i = 0; i < US_TRACE_TEXTS; i++)
		if (s->used[i])
			pthread_join(s->text[i].thread, NULL);
	pthread_mutex_destroy(&s->names);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
