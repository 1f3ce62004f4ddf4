/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.c: see server.h.  Each connection has a thread of its own, so a slow peer
 * blocks only itself.
 */
#include "http/server.h"

#include "http/address.h"
#include "http/origin.h"
#include "http/own_names.h"
#include "http/token.h"

#include "base/clock.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* There may be some more while the oldest is being disconnected. */
#define EXTRA	 8
#define LIMIT	 (US_HTTP_MOST + EXTRA)
#define IDLE_S	 10	       /* a peer that is silent for this long is disconnected */
#define YOUNG_NS 1000000000ULL /* each may take this long to send its request */
#define MEMORY	 (32U << 10)   /* for a connection: its request's header, and a chunk */
#define STACK	 (256U << 10)  /* bytes */
#define CHUNK	 (16U << 10)
#define HOST	 272 /* bytes of a name in a request's target: the longest, a port */
#define VALUE	 (12U << 10) /* bytes of a value in a query, as it was sent */

struct connection {
	int fd; /* -1: unused */
	uint64_t since_ns;
	bool answered; /* it has an answer, or was shut down */
};

struct us_http {
	const struct us_http_route *routes;
	struct us_http_opts o;
	void *ctx;
	int fd; /* bound; owned by libmicrohttpd once that runs */
	struct us_http_address address;
	char url[US_HTTP_ADDRESS_MAX + 16];
	struct MHD_Daemon *daemon;
	char once[US_HTTP_TOKEN_SIZE];
	atomic_bool opened;   /* with that token */
	pthread_mutex_t lock; /* protects what follows */
	struct connection open[LIMIT];
	unsigned n_open;
};

/* A request, until its body has arrived. */
struct call {
	const struct us_http_route *route;
	char body[US_HTTP_BODY_MAX + 1];
	size_t n;
	bool too_long;
};

struct stream {
	int fd;
	int peer; /* -1: only the writer ends it */
};

/* ---- Connections ---- */

static void on_connection(void *ctx, struct MHD_Connection *c, void **slot,
			  enum MHD_ConnectionNotificationCode what)
{
	struct us_http *h = ctx;
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		c, MHD_CONNECTION_INFO_CONNECTION_FD);
	pthread_mutex_lock(&h->lock);
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		struct connection *x = *slot;
		h->n_open--;
		if (x)
			x->fd = -1;
	} else {
		struct connection *x = NULL;
		h->n_open++;
		for (unsigned i = 0; i < LIMIT && !x; i++)
			x = h->open[i].fd < 0 ? &h->open[i] : NULL;
		if (x && info)
			*x = (struct connection){ .fd = info->connect_fd,
						  .since_ns = us_now_ns() };
		*slot = x;
	}
	pthread_mutex_unlock(&h->lock);
}

/* The connection that has waited longest without a complete request, or NULL. */
static struct connection *dullest(struct us_http *h)
{
	struct connection *best = NULL;
	for (unsigned i = 0; i < LIMIT; i++) {
		struct connection *x = &h->open[i];
		if (x->fd >= 0 && !x->answered &&
		    (!best || x->since_ns < best->since_ns))
			best = x;
	}
	return best && us_now_ns() - best->since_ns > YOUNG_NS ? best : NULL;
}

static enum MHD_Result on_accept(void *ctx, const struct sockaddr *peer, socklen_t len)
{
	struct us_http *h = ctx;
	(void)peer, (void)len;
	pthread_mutex_lock(&h->lock);
	bool full = h->n_open >= h->o.connections;
	struct connection *x = full ? dullest(h) : NULL;
	if (x) {
		shutdown(x->fd, SHUT_RDWR);
		x->answered = true; /* only once */
	}
	pthread_mutex_unlock(&h->lock);
	return !full || x ? MHD_YES : MHD_NO;
}

static void has_answered(struct us_http *h, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct connection *x = info ? info->socket_context : NULL;
	pthread_mutex_lock(&h->lock);
	if (x)
		x->answered = true;
	pthread_mutex_unlock(&h->lock);
}

/* ---- Replies ---- */

static ssize_t read_stream(void *ctx, uint64_t at, char *to, size_t room)
{
	const struct stream *s = ctx;
	struct pollfd p[] = { { .fd = s->fd, .events = POLLIN },
			      { .fd = s->peer, .events = POLLRDHUP } };
	(void)at;
	while (poll(p, 2, -1) < 0)
		if (errno != EINTR)
			return MHD_CONTENT_READER_END_WITH_ERROR;
	ssize_t n = p[0].revents ? read(s->fd, to, room) : -1;
	if (n > 0)
		return n;
	return n ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
}

static void free_stream(void *ctx)
{
	struct stream *s = ctx;
	close(s->fd);
	free(s);
}

static struct MHD_Response *streamed(struct MHD_Connection *c,
				     const struct us_http_reply *reply)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct stream *s = info ? malloc(sizeof(*s)) : NULL;
	struct MHD_Response *r = NULL;
	if (s) {
		*s = (struct stream){ .fd = reply->fd,
				      .peer = reply->endless ? info->connect_fd : -1 };
		r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK,
						      read_stream, s, free_stream);
	}
	if (!r) {
		close(reply->fd);
		free(s);
	}
	/* There may be no data for long, and the reader may pause. */
	MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
	return r;
}

static ssize_t read_body(void *ctx, uint64_t at, char *to, size_t room)
{
	const struct us_http_body *b = ctx;
	if (at >= b->size)
		return MHD_CONTENT_READER_END_OF_STREAM;
	size_t n = b->size - at < room ? b->size - at : room;
	memcpy(to, b->data + at, n);
	return (ssize_t)n;
}

static void drop_body(void *ctx)
{
	us_http_body_drop(ctx);
}

static struct MHD_Response *shared(struct us_http_body *b)
{
	struct MHD_Response *r = MHD_create_response_from_callback(
		b->size, CHUNK, read_body, b, drop_body);
	if (!r)
		us_http_body_drop(b);
	return r;
}

static void add_fields(struct MHD_Response *m, const struct us_http_reply *r)
{
	static const char *const fields[][2] = {
		{ "Cache-Control", "no-store" },
		{ "Connection", "close" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Referrer-Policy", "no-referrer" },
		{ "X-Content-Type-Options", "nosniff" },
	};
	char save[96];
	MHD_add_response_header(m, "Content-Type",
				r->type ? r->type : "text/plain; charset=utf-8");
	MHD_add_response_header(m, "Content-Security-Policy",
				r->policy ? r->policy : "default-src 'none'");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		MHD_add_response_header(m, fields[i][0], fields[i][1]);
	if (!r->file_name)
		return;
	snprintf(save, sizeof(save), "attachment; filename=\"%s\"", r->file_name);
	MHD_add_response_header(m, "Content-Disposition", save);
}

/* Takes ownership of what the reply holds. */
static enum MHD_Result send_reply(struct us_http *h, struct MHD_Connection *c,
				  struct us_http_reply *r)
{
	static char nothing[] = "";
	struct MHD_Response *m;
	has_answered(h, c);
	if (r->fd >= 0)
		m = streamed(c, r);
	else if (r->body)
		m = shared(r->body);
	else
		m = MHD_create_response_from_buffer(
			r->text ? strlen(r->text) : 0, r->text ? r->text : nothing,
			r->text ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	if (!m)
		return MHD_NO;
	add_fields(m, r);
	enum MHD_Result ok = MHD_queue_response(c, r->status ? r->status : 200, m);
	MHD_destroy_response(m);
	return ok;
}

static enum MHD_Result refuse(struct us_http *h, struct MHD_Connection *c,
			      unsigned status, const char *why)
{
	struct us_http_reply r = { .fd = -1 };
	us_http_say(&r, status, "%s\n", why);
	return send_reply(h, c, &r);
}

/* ---- Requests ---- */

static unsigned method_of(const char *method)
{
	if (!strcmp(method, "PUT"))
		return US_HTTP_PUT;
	if (!strcmp(method, "POST"))
		return US_HTTP_POST;
	return !strcmp(method, "GET") || !strcmp(method, "HEAD") ? US_HTTP_GET : 0;
}

static const struct us_http_route *route_of(const struct us_http *h, const char *path)
{
	for (const struct us_http_route *r = h->routes; r->path; r++)
		if (!strcmp(r->path, path))
			return r;
	return NULL;
}

static const char *field(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

bool us_http_has(const struct us_http_request *q, const char *key)
{
	return MHD_lookup_connection_value(q->connection, MHD_GET_ARGUMENT_KIND, key) !=
	       NULL;
}

bool us_http_value(const struct us_http_request *q, const char *key, char *dst,
		   size_t size)
{
	const char *raw = MHD_lookup_connection_value(q->connection,
						      MHD_GET_ARGUMENT_KIND, key);
	if (raw && strlen(raw) < VALUE && us_http_unescape(raw, dst, size))
		return true;
	*dst = '\0';
	return false;
}

bool us_http_is_gone(const struct us_http_request *q)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		q->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct pollfd p = { .fd = info ? info->connect_fd : -1, .events = POLLRDHUP };
	return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* Does it have the token, and may its sender read? */
static bool is_allowed(const struct us_http *h, struct MHD_Connection *c)
{
	const struct us_http_sender s = { .host = field(c, "Host"),
					  .origin = field(c, "Origin"),
					  .site = field(c, "Sec-Fetch-Site"),
					  .mode = field(c, "Sec-Fetch-Mode"),
					  .dest = field(c, "Sec-Fetch-Dest") };
	return !h->o.token ||
	       (us_http_sender_is_ours(&s) &&
		us_http_token_is(h->o.token,
				 MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND,
							     "token")));
}

/* Is this the first request of the browser that we started? */
static bool is_opening(struct us_http *h, struct MHD_Connection *c, const char *path)
{
	const char *open = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND,
						       "open");
	return h->o.token && open && !strcmp(path, "/") &&
	       us_http_token_is(h->once, open) && !atomic_exchange(&h->opened, true);
}

static enum MHD_Result lead_to_token(struct us_http *h, struct MHD_Connection *c)
{
	char to[64 + US_HTTP_TOKEN_SIZE];
	const struct us_http_reply none = { .fd = -1 };
	struct MHD_Response *m = MHD_create_response_from_buffer(0, to,
								 MHD_RESPMEM_MUST_COPY);
	if (!m)
		return MHD_NO;
	has_answered(h, c);
	snprintf(to, sizeof(to), "/?token=%.63s", h->o.token);
	add_fields(m, &none);
	MHD_add_response_header(m, "Location", to);
	enum MHD_Result ok = MHD_queue_response(c, 302, m);
	MHD_destroy_response(m);
	return ok;
}

static bool is_own_host(const struct us_http *h, const char *host)
{
	if (us_http_host_is_ours(host))
		return true;
	if (!h->o.token)
		return false;
	return us_own_names_have(host) ||
	       (h->o.host_name && us_http_host_is_named(host, h->o.host_name));
}

/* The request's header has arrived. */
static enum MHD_Result begin(struct us_http *h, struct MHD_Connection *c,
			     const char *target, unsigned method, void **call)
{
	char named[HOST];
	const char *path = us_http_target_path(target, named, sizeof(named));
	const char *host = field(c, "Host");
	if (!path || !is_own_host(h, host) || (*named && !is_own_host(h, named)))
		return refuse(h, c, 403,
			      h->o.token ? "the Host of a request must be an address, "
					   "localhost, this machine's name, or that of "
					   "--host-name"
					 : "the Host of a request must be an address "
					   "or localhost");
	const struct us_http_route *route = route_of(h, path);
	if (method == US_HTTP_GET && is_opening(h, c, path))
		return lead_to_token(h, c);
	if (!is_allowed(h, c))
		return refuse(h, c, 403,
			      "this needs the token in the URL that uniscope printed, "
			      "and must not come from another site's page");
	if (!route)
		return refuse(h, c, 404, "no such file; / lists all");
	if (!(route->methods & method))
		return refuse(h, c, 405, "this method is not allowed here");
	if ((route->changing & method) &&
	    !us_http_origin_is_ours(host, field(c, "Origin"),
				    field(c, "Sec-Fetch-Site")))
		return refuse(h, c, 403, "this must not come from another site's page");
	struct call *x = calloc(1, sizeof(*x));
	*call = x;
	if (!x)
		return MHD_NO;
	x->route = route;
	return MHD_YES;
}

static void take_body(struct call *x, const char *data, size_t *n)
{
	if (*n > US_HTTP_BODY_MAX - x->n) {
		x->too_long = true;
	} else {
		memcpy(x->body + x->n, data, *n);
		x->n += *n;
	}
	*n = 0;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c,
				  const char *target, const char *method,
				  const char *version, const char *data, size_t *n,
				  void **call)
{
	struct us_http *h = ctx;
	struct call *x = *call;
	struct us_http_reply r = { .fd = -1 };
	(void)version;
	if (!x)
		return begin(h, c, target, method_of(method), call);
	if (*n) {
		take_body(x, data, n);
		return MHD_YES;
	}
	if (x->too_long)
		return refuse(h, c, 413, "the request's body is too long");
	const struct us_http_request q = { .method = method_of(method),
					   .path = x->route->path,
					   .body = x->body,
					   .connection = c };
	/* An answer may take long: the timeout is only for a silent peer. */
	MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
	/* Of HEAD, too: its fields are those of GET, and libmicrohttpd leaves out the
	 * body. */
	x->route->answer(h->ctx, &q, &r);
	MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)IDLE_S);
	return send_reply(h, c, &r);
}

static void on_completed(void *ctx, struct MHD_Connection *c, void **call,
			 enum MHD_RequestTerminationCode why)
{
	(void)ctx, (void)c, (void)why;
	free(*call);
	*call = NULL;
}

/* No route has a '%', so paths need no unescaping, and a '%' can hide nothing. */
static size_t unescape_nothing(void *ctx, struct MHD_Connection *c, char *text)
{
	(void)ctx, (void)c;
	return strlen(text);
}

/* ---- The server ---- */

static int fail_listen(int code, const char *address, struct us_err *e)
{
	us_fail(e, code, "listen on %s: %s", address, strerror(-code));
	if (code == -EADDRINUSE)
		us_hint(e, "another program has this port; :0 chooses a free one");
	if (code == -EADDRNOTAVAIL)
		us_hint(e, "this machine has no such address; ip address lists them");
	if (code == -EACCES)
		us_hint(e, "only root may use ports below 1024");
	return code;
}

static int listen_on(struct us_http *h, const char *address, struct us_err *e)
{
	const int on = 1;
	struct sockaddr *sa = (void *)&h->address.sa;
	h->fd = socket(h->address.sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (h->fd < 0 || setsockopt(h->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(h->fd, sa, h->address.len) || listen(h->fd, (int)h->o.connections) ||
	    getsockname(h->fd, sa, &h->address.len))
		return fail_listen(-errno, address, e);
	char text[US_HTTP_ADDRESS_MAX];
	us_http_address_text(&h->address, text);
	snprintf(h->url, sizeof(h->url), "http://%s", text);
	return 0;
}

static void set_opts(struct us_http *h, const struct us_http_opts *o)
{
	if (o)
		h->o = *o;
	if (!h->o.connections)
		h->o.connections = US_HTTP_CONNECTIONS;
	if (h->o.connections > US_HTTP_MOST)
		h->o.connections = US_HTTP_MOST;
	if (!h->o.stack)
		h->o.stack = STACK;
}

int us_http_open(const char *address, const struct us_http_route *routes,
		 const struct us_http_opts *o, void *ctx, struct us_http **ret,
		 struct us_err *e)
{
	struct us_http *h = calloc(1, sizeof(*h));
	*ret = h;
	if (!h)
		return us_fail(e, -ENOMEM, "listen: out of memory");
	set_opts(h, o);
	h->routes = routes;
	h->ctx = ctx;
	h->fd = -1;
	pthread_mutex_init(&h->lock, NULL);
	for (unsigned i = 0; i < LIMIT; i++)
		h->open[i].fd = -1;
	int rc = us_http_address_parse(address, &h->address, e);
	if (rc == 0)
		rc = us_http_token_make(h->once, e);
	if (rc == 0)
		rc = listen_on(h, address, e);
	if (rc) {
		us_http_close(h, 0);
		*ret = NULL;
	}
	return rc;
}

int us_http_run(struct us_http *h, struct us_err *e)
{
	sigset_t all, old;
	if (h->o.token && !us_http_is_loopback(h))
		us_own_names_ask();
	sigfillset(&all);
	/* Signals are for the main thread. */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	h->daemon = MHD_start_daemon(
		MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION |
			MHD_USE_ITC,
		0, on_accept, h, on_request, h, MHD_OPTION_LISTEN_SOCKET, h->fd,
		MHD_OPTION_CONNECTION_LIMIT, h->o.connections + EXTRA,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
		MHD_OPTION_THREAD_STACK_SIZE, h->o.stack, MHD_OPTION_STRICT_FOR_CLIENT,
		1, MHD_OPTION_UNESCAPE_CALLBACK, unescape_nothing, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!h->daemon)
		return us_fail(e, -EIO, "serve %s: cannot start libmicrohttpd", h->url);
	return 0;
}

const char *us_http_url(const struct us_http *h)
{
	return h->url;
}

const char *us_http_once(const struct us_http *h)
{
	return h->once;
}

bool us_http_is_loopback(const struct us_http *h)
{
	return us_http_address_is_loopback(&h->address);
}

static bool is_busy(struct us_http *h)
{
	bool busy = false;
	pthread_mutex_lock(&h->lock);
	for (unsigned i = 0; i < LIMIT; i++)
		busy = busy || (h->open[i].fd >= 0 && h->open[i].answered);
	pthread_mutex_unlock(&h->lock);
	return busy;
}

void us_http_close(struct us_http *h, unsigned wait_ms)
{
	if (!h)
		return;
	if (h->daemon) {
		int fd = MHD_quiesce_daemon(h->daemon);
		h->fd = fd == MHD_INVALID_SOCKET ? h->fd : fd;
		for (unsigned ms = 0; ms < wait_ms && is_busy(h); ms += 10)
			usleep(10000);
		MHD_stop_daemon(h->daemon);
	}
	if (h->fd >= 0)
		close(h->fd);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
