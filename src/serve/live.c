/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live.c: a guest's live data: profiles of a time span, and its last minutes. */
#include "serve/serve_priv.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "report/html.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define JSON		"application/json"
#define MOST_MS		(1000ULL * 60 * 60 * 24 * 366)
#define DEFAULT_SECONDS 30 /* as in Go */
#define MOST_SECONDS	3600
#define UNSET		UINT64_MAX
#define WAIT_US		50000
#define ROW_NS		(5 * US_NS_PER_SEC) /* for a row in the list of guests */
#define PROCESS_SIZE	128		    /* a name has at most 63 bytes */
#define ROWS_PAUSE	25 /* times the time to list all its functions */

/* A whole number in the query, if present; false: it is not a valid number. */
static bool number(const struct us_http_request *q, const char *key, uint64_t most,
		   uint64_t *ret)
{
	char text[24];
	if (!us_http_value(q, key, text, sizeof(text)))
		return true;
	size_t n = strspn(text, "0123456789");
	uint64_t value = strtoull(text, NULL, 10);
	if (!n || text[n] || n > 18 || value > most)
		return false;
	*ret = value;
	return true;
}

/* ---- A profile of a span of time ---- */

/* What the client requests. */
struct wanted {
	struct us_live_view v;
	bool owners;		    /* with processes as the roots of stacks, too */
	bool waits;		    /* also what tasks waited for */
	char process[PROCESS_SIZE]; /* only this one; "": all */
};

/* A name as in a row of `top`, with or without its number.  It is quoted: a regular
 * expression of the client could take any time and memory. */
static void choose_process(const char *name, char *regex, size_t size,
			   struct us_profile_opts *only)
{
	regex[0] = '^';
	us_regex_of(regex + 1, size - 1, name);
	us_append(regex, size, "( \\([0-9]+(, inside [0-9]+)?\\))?$");
	only->filter[only->n_filter++] = (struct us_profile_filter){ US_BY_PROCESS,
								     regex };
}

struct made {
	struct us_profile *p, *owners, *waits; /* NULL: none */
};

static void made_fini(struct made *m)
{
	us_profile_free(m->p);
	us_profile_free(m->owners);
	us_profile_free(m->waits);
}

static int make_profiles(struct us_live *l, const struct wanted *x, struct made *ret,
			 struct us_err *e)
{
	struct us_live_view v = x->v;
	struct us_profile_opts only = { 0 };
	char regex[2 * PROCESS_SIZE + 64];
	if (x->process[0]) {
		choose_process(x->process, regex, sizeof(regex), &only);
		v.only = &only;
		v.processes = true;
	}
	int rc = us_live_profile(l, &v, &ret->p, e);
	if (!rc && x->waits && us_live_waits_known(l)) {
		v.waits = true;
		rc = us_live_profile(l, &v, &ret->waits, e);
		v.waits = false;
	}
	if (rc || !x->owners || !us_live_owners_known(l))
		return rc;
	v.processes = true;
	v.roots = US_BY_PROCESS;
	return us_live_profile(l, &v, &ret->owners, e);
}

/* The guest's lock is held. */
static int make_data(const struct us_serve *s, struct us_serve_guest *g,
		     const struct wanted *x, struct us_http_body **ret,
		     struct us_err *e)
{
	/* Code is only for a view that stands still. */
	struct us_report_opts o = { .full_paths = s->o.full_paths,
				    .no_code = !x->v.by_time };
	struct made m = { 0 };
	char *data = NULL;
	size_t size = 0;
	int rc = make_profiles(g->live, x, &m, e);
	o.owners = m.owners;
	o.waits = m.waits;
	FILE *out = rc ? NULL : open_memstream(&data, &size);
	if (!rc)
		rc = out ? us_html_data(m.p, &o, out, e) : -ENOMEM;
	made_fini(&m);
	if (out && fclose(out))
		rc = -ENOMEM;
	if (rc)
		free(data);
	else
		*ret = us_http_body_new(data, size);
	if (!rc && !*ret)
		rc = -ENOMEM;
	if (rc && !e->code)
		us_fail(e, rc, "serve %s: out of memory", g->name);
	return rc;
}

static struct us_http_body *cached(struct us_serve *s, const char *key)
{
	pthread_mutex_lock(&s->lock);
	struct us_http_body *b = us_cache_get(&s->live_cache, key);
	pthread_mutex_unlock(&s->lock);
	return b;
}

/* Made once for all who request the same. */
static int get_data(struct us_serve *s, struct us_serve_guest *g,
		    const struct wanted *x, struct us_http_body **ret, struct us_err *e)
{
	const struct us_live_view *v = &x->v;
	char key[US_CACHE_KEY];
	int rc = 0;
	pthread_mutex_lock(&g->lock);
	snprintf(key, sizeof(key),
		 "%u:%u:%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%d:%d:%d:%s", g->number,
		 g->generation, v->last_ns, v->from_ns, v->to_ns, v->by_time, x->owners,
		 x->waits, x->process);
	*ret = cached(s, key);
	if (!*ret)
		rc = make_data(s, g, x, ret, e);
	if (rc == 0) {
		pthread_mutex_lock(&s->lock);
		us_cache_put(&s->live_cache, key, *ret);
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&g->lock);
	return rc;
}

/* A name that is empty or too long is refused. */
static bool process_of(const struct us_http_request *q, char ret[PROCESS_SIZE])
{
	if (!us_http_value(q, "process", ret, PROCESS_SIZE))
		return !us_http_has(q, "process");
	return ret[0] != '\0';
}

void us_serve_data(struct us_serve *s, struct us_serve_guest *g,
		   const struct us_http_request *q, struct us_http_reply *r)
{
	uint64_t last = 0, from = 0, to = 0, time = 0, owners = 0, waits = 0;
	struct wanted x = { 0 };
	struct us_err e = { 0 };
	if (!number(q, "last", MOST_MS, &last) || !number(q, "from", MOST_MS, &from) ||
	    !number(q, "to", MOST_MS, &to) || !number(q, "time", 1, &time) ||
	    !number(q, "owners", 1, &owners) || !number(q, "waits", 1, &waits) ||
	    !process_of(q, x.process) || (to && from >= to)) {
		us_http_say(r, 400,
			    "last=MS, or from=MS&to=MS; time=1; owners=1; waits=1; "
			    "process=NAME or \"NAME (PID)\"\n");
		return;
	}
	x.owners = owners;
	x.waits = waits;
	x.v = (struct us_live_view){ .last_ns = last * US_NS_PER_MS,
				     .from_ns = last ? 0 : from * US_NS_PER_MS,
				     .to_ns = last ? 0 : to * US_NS_PER_MS,
				     .by_time = time };
	int rc = get_data(s, g, &x, &r->body, &e);
	if (rc)
		us_serve_refuse(r, 503, &e);
	else
		r->type = JSON;
}

/* ---- Its last minutes ---- */

static void put_seconds(const struct us_serve_guest *g, uint64_t since,
			struct us_json *j)
{
	unsigned rows = g->n_vcpu < US_SERVE_ROWS ? g->n_vcpu : US_SERVE_ROWS;
	uint64_t from = since > g->first ? since : g->first;
	us_json_u64(j, "first", from);
	us_json_u64(j, "rows", rows);
	us_json_u64(j, "vcpus", g->n_vcpu);
	us_json_array(j, "seconds");
	for (uint64_t k = from; k < g->n; k++) {
		const struct us_serve_second *x = g->second[k % US_SERVE_HISTORY];
		us_json_array(j, NULL);
		for (unsigned i = 0; i < rows; i++) {
			us_json_u64(j, NULL, x[i].guest);
			us_json_u64(j, NULL, x[i].exit);
			us_json_u64(j, NULL, x[i].ready);
			us_json_u64(j, NULL, x[i].idle);
		}
		us_json_end(j);
	}
	us_json_end(j);
}

/* What was written to out becomes the reply. */
static void finish(FILE *out, char **data, const size_t *size, struct us_http_reply *r)
{
	bool bad = ferror(out) != 0;
	bad = fclose(out) != 0 || bad;
	if (bad) {
		free(*data);
		us_http_say(r, 503, "out of memory\n");
		return;
	}
	us_serve_reply(r, *data, *size, JSON);
}

void us_serve_history(struct us_serve_guest *g, const struct us_http_request *q,
		      struct us_http_reply *r)
{
	uint64_t since = 0;
	char *data = NULL;
	size_t size = 0;
	if (!number(q, "since", MOST_MS, &since)) {
		us_http_say(r, 400, "since=SECONDS\n");
		return;
	}
	FILE *out = open_memstream(&data, &size);
	if (!out) {
		us_http_say(r, 503, "out of memory\n");
		return;
	}
	struct us_json j = us_json_to(out);
	us_json_object(&j, NULL);
	pthread_mutex_lock(&g->lock);
	us_json_str(&j, "guest", g->name);
	us_json_u64(&j, "now", us_live_now_ns(g->live) / US_NS_PER_MS);
	us_json_bool(&j, "ended", g->ended);
	us_json_str(&j, "words", g->words);
	us_json_bool(&j, "owners", us_live_owners_known(g->live));
	us_json_bool(&j, "waits", us_live_waits_known(g->live));
	put_seconds(g, since, &j);
	pthread_mutex_unlock(&g->lock);
	us_json_end(&j);
	finish(out, &data, &size, r);
}

/* ---- All guests ---- */

static void sum_vcpus(struct us_serve_guest *g)
{
	struct us_live_vcpu did[US_SERVE_ROWS];
	const struct us_live_view v = { .last_ns = ROW_NS };
	uint64_t busy = 0, idle = 0, all = 0;
	us_live_vcpus(g->live, &v, did, US_SERVE_ROWS);
	for (unsigned i = 0; i < US_SERVE_ROWS; i++) {
		busy += did[i].guest + did[i].exit;
		idle += did[i].idle;
		all += did[i].guest + did[i].exit + did[i].idle + did[i].ready;
	}
	g->busy = all ? (double)busy / (double)all : 0;
	g->idle = all ? (double)idle / (double)all : 0;
}

static void find_hottest(struct us_serve_guest *g)
{
	const struct us_live_view v = { .last_ns = ROW_NS, .no_intervals = true };
	const struct us_profile_func *best = NULL;
	struct us_profile *p;
	struct us_err e;
	size_t n;
	g->hottest[0] = '\0';
	g->share = 0;
	if (us_live_profile(g->live, &v, &p, &e))
		return;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++) {
		bool is_none = !f[i].known && f[i].name[0] == '['; /* US_FRAME_... */
		if (f[i].self && !is_none && (!best || f[i].self > best->self))
			best = &f[i];
	}
	if (best) {
		us_printable(g->hottest, sizeof(g->hottest), best->name);
		g->share = (double)best->self /
			   (double)(us_profile_summary(p)->running -
				    us_profile_summary(p)->ready);
	}
	us_profile_free(p);
}

/* All rows together may use only a part of a core, however many guests there are: with
 * more guests, the functions are updated less often. */
static void renew_row(struct us_serve_guest *g, unsigned guests)
{
	uint64_t before = us_thread_cpu_ns();
	sum_vcpus(g);
	if (us_now_ns() < g->due_ns)
		return;
	find_hottest(g);
	g->due_ns = us_now_ns() + ROWS_PAUSE * guests * (us_thread_cpu_ns() - before);
}

static void put_guest(struct us_serve_guest *g, unsigned guests, struct us_json *j)
{
	pthread_mutex_lock(&g->lock);
	if (g->row_generation != g->generation) {
		renew_row(g, guests);
		g->row_generation = g->generation;
	}
	us_json_object(j, NULL);
	us_json_str(j, "name", g->name);
	us_json_u64(j, "vcpus", g->n_vcpu);
	us_json_double(j, "host_cpu", g->host_cpu >= 0 ? g->host_cpu : NAN, 4);
	us_json_double(j, "busy", g->busy, 4);
	us_json_double(j, "idle", g->idle, 4);
	us_json_str(j, "hottest", g->hottest);
	us_json_double(j, "share", g->share, 4);
	us_json_u64(j, "seconds", us_live_now_ns(g->live) / US_NS_PER_SEC);
	us_json_bool(j, "ended", g->ended);
	us_json_str(j, "words", g->words);
	us_json_end(j);
	pthread_mutex_unlock(&g->lock);
}

void us_serve_guests(struct us_serve *s, struct us_http_reply *r)
{
	struct us_serve_guest *g[US_SERVE_GUESTS];
	char *data = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&data, &size);
	if (!out) {
		us_http_say(r, 503, "out of memory\n");
		return;
	}
	struct us_json j = us_json_to(out);
	unsigned n = us_serve_take_all(s, g);
	us_json_array(&j, NULL);
	for (unsigned i = 0; i < n; i++) {
		put_guest(g[i], n, &j);
		us_serve_put(s, g[i]);
	}
	us_json_end(&j);
	finish(out, &data, &size, r);
}

/* ---- For go tool pprof ---- */

/* Wait for this time, or until there is nothing more to wait for. */
static void wait_for(struct us_serve *s, struct us_serve_guest *g,
		     const struct us_http_request *q, uint64_t seconds)
{
	uint64_t until = us_now_ns() + seconds * US_NS_PER_SEC;
	bool over = false;
	while (!over && us_now_ns() < until && !us_serve_stopping(s) &&
	       !us_http_is_gone(q)) {
		usleep(WAIT_US);
		pthread_mutex_lock(&g->lock);
		over = g->ended;
		pthread_mutex_unlock(&g->lock);
	}
}

void us_serve_pprof(struct us_serve *s, struct us_serve_guest *g,
		    const struct us_http_request *q, struct us_http_reply *r)
{
	uint64_t next = DEFAULT_SECONDS, last = UNSET;
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	struct us_live_view v = { .by_vcpu = true, .if_known = true };
	if (!number(q, "seconds", MOST_SECONDS, &next) ||
	    !number(q, "last", MOST_SECONDS, &last) || !next || !last) {
		us_http_say(r, 400,
			    "seconds=N for the next N, or last=N for the last N; from "
			    "1 to %d\n",
			    MOST_SECONDS);
		return;
	}
	pthread_mutex_lock(&g->lock);
	us_serve_renew(g);
	if (!g->ended)
		v.from_ns = us_live_now_ns(g->live);
	pthread_mutex_unlock(&g->lock);
	if (last != UNSET)
		v = (struct us_live_view){ .by_vcpu = true,
					   .if_known = true,
					   .last_ns = last * US_NS_PER_SEC };
	else
		wait_for(s, g, q, next);
	pthread_mutex_lock(&g->lock);
	us_serve_renew(g);
	int rc = us_live_profile(g->live, &v, &p, &e);
	if (rc == 0)
		rc = us_serve_format(s, p, &us_format_pprof, g->name, NULL, &r->body,
				     &e);
	us_profile_free(p);
	pthread_mutex_unlock(&g->lock);
	if (rc)
		us_serve_refuse(r, 503, &e);
}
