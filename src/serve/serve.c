/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serve.c: see serve.h. */
#include "serve/serve_priv.h"

#include "base/text.h"
#include "http/address.h"
#include "report/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK	 (8U << 20) /* of threads that read recordings; most is never used */
#define CLOSE_MS 500
#define TRIES	 50 /* ports to try after one that is in use */

/* ---- Replies ---- */

void us_serve_refuse(struct us_http_reply *r, unsigned status, const struct us_err *e)
{
	char msg[sizeof(e->msg)], hint[sizeof(e->hint)];
	us_printable(msg, sizeof(msg), e->msg);
	us_printable(hint, sizeof(hint), e->hint);
	us_http_say(r, status, "uniscope: %s\n%s%s", msg, hint, *hint ? "\n" : "");
}

void us_serve_reply(struct us_http_reply *r, char *data, size_t size, const char *type)
{
	r->body = us_http_body_new(data, size);
	if (!r->body) {
		us_http_say(r, 503, "out of memory\n");
		return;
	}
	r->type = type;
	r->policy = US_SERVE_POLICY;
}

int us_serve_format(const struct us_serve *s, const struct us_profile *p,
		    const struct us_format *f, const char *name,
		    const struct us_report_opts *beside, struct us_http_body **ret,
		    struct us_err *e)
{
	const struct us_report_opts o = { .file = name,
					  .full_paths = s->o.full_paths,
					  .waits = beside ? beside->waits : NULL,
					  .owners = beside ? beside->owners : NULL };
	char *data = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&data, &size);
	if (!out)
		return us_fail(e, -ENOMEM, "serve %s: out of memory", name);
	int rc = us_report(p, f, &o, out, e);
	if (fclose(out) && rc == 0)
		rc = us_fail(e, -ENOMEM, "serve %s: out of memory", name);
	if (rc) {
		free(data);
		return rc;
	}
	*ret = us_http_body_new(data, size);
	return *ret ? 0 : us_fail(e, -ENOMEM, "serve %s: out of memory", name);
}

/* ---- Pages ---- */

static void as_page(struct us_http_reply *r)
{
	if (!r->body)
		return;
	r->type = US_SERVE_HTML;
	r->policy = US_SERVE_POLICY;
}

/* The page has no data yet: it requests them itself. */
static void live_page(void *ctx, const struct us_http_request *q,
		      struct us_http_reply *r)
{
	(void)ctx, (void)q;
	us_http_say(r, 200, "%snull%s", (const char *)us_live_page_head,
		    (const char *)us_live_page_tail);
	r->type = US_SERVE_HTML;
	r->policy = US_SERVE_POLICY;
}

static void index_page(void *ctx, const struct us_http_request *q,
		       struct us_http_reply *r)
{
	struct us_serve *s = ctx;
	const char *only = us_serve_only(s);
	if (s->o.live && !s->o.all) {
		live_page(ctx, q, r);
		return;
	}
	if (!*only) {
		us_serve_list(s, r);
		return;
	}
	us_serve_recording(s, only, &us_format_html, r);
	as_page(r);
}

/* The requested recording; false: the reply says what is wrong. */
static bool file_of(const struct us_serve *s, const struct us_http_request *q,
		    char name[static PATH_MAX], struct us_http_reply *r)
{
	if (us_http_value(q, "file", name, PATH_MAX))
		return true;
	snprintf(name, PATH_MAX, "%s", us_serve_only(s));
	if (!*name)
		us_http_say(r, 400,
			    "which recording? use ?file=NAME; / lists the names\n");
	return *name;
}

static void recording_page(void *ctx, const struct us_http_request *q,
			   struct us_http_reply *r)
{
	char name[PATH_MAX];
	if (!file_of(ctx, q, name, r))
		return;
	us_serve_recording(ctx, name, &us_format_html, r);
	as_page(r);
}

/* The requested guest, with one more user; NULL: the reply says what is wrong. */
static struct us_serve_guest *
guest_of(struct us_serve *s, const struct us_http_request *q, struct us_http_reply *r)
{
	char name[256];
	bool asked = us_http_value(q, "guest", name, sizeof(name));
	struct us_serve_guest *g = us_serve_take(s, name);
	if (!g)
		us_http_say(r, asked ? 404 : 400, "%s\n",
			    asked ? "no such guest; / lists all"
			    : s->o.all
				    ? "which guest? use ?guest=NAME; / lists the names"
				    : "The guest is not observed yet.");
	return g;
}

static void data(void *ctx, const struct us_http_request *q, struct us_http_reply *r)
{
	struct us_serve_guest *g = guest_of(ctx, q, r);
	if (!g)
		return;
	us_serve_data(ctx, g, q, r);
	us_serve_put(ctx, g);
}

static void history(void *ctx, const struct us_http_request *q, struct us_http_reply *r)
{
	struct us_serve *s = ctx;
	char name[256];
	bool asked = us_http_value(q, "guest", name, sizeof(name));
	struct us_serve_guest *g = us_serve_take(s, "");
	if (!s->o.all && !asked && !g) {
		us_http_say(r, 200, "{\"guest\":\"\"}\n"); /* not yet */
		r->type = "application/json";
		return;
	}
	if (g)
		us_serve_put(s, g);
	g = guest_of(ctx, q, r);
	if (!g)
		return;
	us_serve_history(g, q, r);
	us_serve_put(ctx, g);
}

static void guests(void *ctx, const struct us_http_request *q, struct us_http_reply *r)
{
	(void)q;
	us_serve_guests(ctx, r);
}

static void events(void *ctx, const struct us_http_request *q, struct us_http_reply *r)
{
	(void)q;
	us_serve_events(ctx, r);
}

static void pprof_of_guest(struct us_serve *s, const struct us_http_request *q,
			   struct us_http_reply *r)
{
	struct us_serve_guest *g = guest_of(s, q, r);
	if (!g)
		return;
	us_serve_pprof(s, g, q, r);
	us_serve_put(s, g);
}

static void pprof(void *ctx, const struct us_http_request *q, struct us_http_reply *r)
{
	struct us_serve *s = ctx;
	char name[PATH_MAX];
	if (s->o.live)
		pprof_of_guest(s, q, r);
	else if (file_of(ctx, q, name, r))
		us_serve_recording(ctx, name, &us_format_pprof, r);
	if (!r->body)
		return;
	r->type = "application/octet-stream";
	r->file_name = "profile.pb.gz";
}

static const struct us_http_route routes[] = {
	{ "/", US_HTTP_GET, 0, index_page },
	{ "/recording", US_HTTP_GET, 0, recording_page },
	{ "/live", US_HTTP_GET, 0, live_page },
	{ "/data", US_HTTP_GET, 0, data },
	{ "/history", US_HTTP_GET, 0, history },
	{ "/guests", US_HTTP_GET, 0, guests },
	{ "/events", US_HTTP_GET, 0, events },
	{ "/debug/pprof/profile", US_HTTP_GET, 0, pprof },
	{ 0 },
};

/* ---- The server ---- */

static const char *after_colon(const char *url)
{
	const char *colon = strrchr(url, ':');
	return colon ? colon + 1 : "";
}

/* A free port after this one; 0: none near it. */
static unsigned next_free(const char *address, const struct us_http_route *r)
{
	const char *colon = strrchr(address, ':'), *port = colon ? colon + 1 : address;
	char text[US_HTTP_ADDRESS_MAX];
	for (unsigned i = 1; i <= TRIES; i++) {
		struct us_http *h = NULL;
		unsigned n = (unsigned)atoi(port) + i;
		snprintf(text, sizeof(text), "%.*s%u", (int)(port - address), address,
			 n);
		if (us_http_open(text, r, NULL, NULL, &h, NULL) == 0) {
			us_http_close(h, 0);
			return n;
		}
	}
	return 0;
}

static int open_http(struct us_serve *s, struct us_err *e)
{
	const struct us_http_opts o = { .token = s->token,
					.host_name = s->o.host_name,
					.connections = US_SERVE_CLIENTS,
					.stack = STACK };
	int rc = us_http_open(s->o.address, routes, &o, s, &s->http, e);
	if (rc == -EADDRINUSE) {
		unsigned port = next_free(s->o.address, routes);
		if (port)
			us_hint(e, "another program has this port; --port %u is free",
				port);
	}
	if (rc)
		return rc;
	snprintf(s->url, sizeof(s->url), "%s/?token=%s", us_http_url(s->http),
		 s->token);
	snprintf(s->once, sizeof(s->once), "%s/?open=%s", us_http_url(s->http),
		 us_http_once(s->http));
	return 0;
}

int us_serve_open(const struct us_serve_opts *o, struct us_serve **ret,
		  struct us_err *e)
{
	struct us_serve *s = calloc(1, sizeof(*s));
	*ret = s;
	if (!s)
		return us_fail(e, -ENOMEM, "serve: out of memory");
	s->o = *o;
	s->cache.most = US_SERVE_CACHE_BYTES;
	s->live_cache.most = US_SERVE_LIVE_BYTES;
	pthread_mutex_init(&s->reading, NULL);
	pthread_mutex_init(&s->lock, NULL);
	int rc = us_http_token_make(s->token, e);
	if (rc == 0)
		rc = open_http(s, e);
	if (rc) {
		us_serve_close(s);
		*ret = NULL;
	}
	return rc;
}

int us_serve_run(struct us_serve *s, struct us_err *e)
{
	int rc = s->o.live ? us_serve_begin_ticks(s, e) : 0;
	return rc ? rc : us_http_run(s->http, e);
}

const char *us_serve_url(const struct us_serve *s)
{
	return s->url;
}

const char *us_serve_once(const struct us_serve *s)
{
	return s->once;
}

bool us_serve_is_loopback(const struct us_serve *s)
{
	return us_http_is_loopback(s->http);
}

unsigned us_serve_port(const struct us_serve *s)
{
	return (unsigned)atoi(after_colon(us_http_url(s->http)));
}

void us_serve_close(struct us_serve *s)
{
	if (!s)
		return;
	us_serve_end_ticks(s);
	us_http_close(s->http, CLOSE_MS);
	us_serve_free_guests(s);
	us_cache_fini(&s->cache);
	us_cache_fini(&s->live_cache);
	pthread_mutex_destroy(&s->reading);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
