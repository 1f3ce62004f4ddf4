/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recordings.c: the list of recordings, and one of them as a page. */
#include "serve/serve_priv.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "report/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct us_shelf *shelf_of(const struct us_serve *s)
{
	static const struct us_shelf none;
	return s->o.shelf ? s->o.shelf : &none;
}

/* ---- The list ---- */

static void text(struct us_json *j, const char *key, const char *value)
{
	char safe[1024];
	us_json_str(j, key, us_printable(safe, sizeof(safe), value));
}

static void item(struct us_json *j, const struct us_serve *s,
		 const struct us_shelf_item *i)
{
	struct us_shelf_facts f = { 0 };
	struct us_shelf_item now;
	_cleanup_close_ int fd = -1;
	struct us_err e;
	if (us_shelf_open(s->o.shelf, i->name, &fd, &now, &e))
		return;
	us_shelf_peek(fd, &f);
	us_json_object(j, NULL);
	bool has_link = us_http_is_text(i->name);
	if (has_link)
		us_json_str(j, "name", i->name); /* a link needs it unchanged */
	else
		text(j, "name", i->name);
	us_json_bool(j, "link", has_link);
	text(j, "guest", f.guest);
	text(j, "started", f.started);
	text(j, "backend", f.backend);
	text(j, "why",
	     has_link
		     ? f.why
		     : "its name is not plain text, so no link can have it: rename it");
	us_json_u64(j, "bytes", i->bytes);
	us_json_u64(j, "modified", (uint64_t)(i->modified_ns / 1000000000LL));
	us_json_end(j);
}

void us_serve_list(struct us_serve *s, struct us_http_reply *r)
{
	struct us_shelf_list l;
	char *data = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&data, &size);
	if (!out || us_shelf_look(shelf_of(s), &l)) {
		if (out)
			fclose(out);
		free(data);
		us_http_say(r, 503, "out of memory\n");
		return;
	}
	struct us_json j = us_json_to(out);
	fputs((const char *)us_list_page_head, out);
	us_json_object(&j, NULL);
	us_json_array(&j, "recordings");
	for (size_t i = 0; i < l.n; i++)
		item(&j, s, l.v[i]);
	us_json_end(&j);
	us_json_bool(&j, "more", l.more);
	us_json_bool(&j, "live", s->o.live);
	us_json_end(&j);
	fputs((const char *)us_list_page_tail, out);
	us_shelf_list_fini(&l);
	bool bad = ferror(out) != 0;
	bad = fclose(out) != 0 || bad;
	if (bad) {
		free(data);
		us_http_say(r, 503, "out of memory\n");
		return;
	}
	us_serve_reply(r, data, size, US_SERVE_HTML);
}

const char *us_serve_only(const struct us_serve *s)
{
	const struct us_shelf *shelf = shelf_of(s);
	return shelf->n == 1 && !shelf->v[0].folder ? shelf->v[0].path : "";
}

/* ---- One of them ---- */

static int read_again(int fd, const struct us_profile_opts *o, struct us_profile **ret,
		      struct us_err *e)
{
	if (lseek(fd, 0, SEEK_SET) < 0)
		return us_fail(e, -errno, "read it again: %s", strerror(errno));
	return us_profile_read(fd, o, ret, e);
}

/* What a page of `report` also has for a Linux guest: p with processes as the roots of
 * stacks, and what tasks waited for. */
static int read_beside(int fd, const struct us_profile_opts *of,
		       const struct us_profile *p, struct us_profile **ret_owners,
		       struct us_profile **ret_waits, struct us_err *e)
{
	struct us_profile_opts o = *of;
	int rc = 0;
	if (us_profile_owners_known(p)) {
		o.roots = US_BY_PROCESS;
		rc = read_again(fd, &o, ret_owners, e);
	}
	if (rc || !us_profile_waits(p)->n)
		return rc;
	o.waits = true;
	o.by_time = o.processes = o.if_known = false;
	o.roots = US_BY_NONE;
	return read_again(fd, &o, ret_waits, e);
}

/* One at a time: the next request for the same finds it in the cache. */
static int make(struct us_serve *s, int fd, const char *name, const struct us_format *f,
		struct us_http_body **ret, struct us_err *e)
{
	_cleanup_(us_profile_freep) struct us_profile *p = NULL;
	_cleanup_(us_profile_freep) struct us_profile *owners = NULL;
	_cleanup_(us_profile_freep) struct us_profile *waits = NULL;
	struct us_profile_opts o = s->o.profile;
	o.by_vcpu = f->by_vcpu;
	o.by_time = f->by_time;
	o.processes = o.if_known = f->owners;
	int rc = us_profile_read(fd, &o, &p, e);
	if (rc == 0 && f->both)
		rc = read_beside(fd, &o, p, &owners, &waits, e);
	const struct us_report_opts beside = { .owners = owners, .waits = waits };
	return rc ? rc : us_serve_format(s, p, f, name, &beside, ret, e);
}

static struct us_http_body *cached(struct us_serve *s, const char *key)
{
	pthread_mutex_lock(&s->lock);
	struct us_http_body *b = us_cache_get(&s->cache, key);
	pthread_mutex_unlock(&s->lock);
	return b;
}

static int get(struct us_serve *s, int fd, const struct us_shelf_item *i,
	       const struct us_format *f, struct us_http_body **ret, struct us_err *e)
{
	char key[US_CACHE_KEY];
	int rc = 0;
	snprintf(key, sizeof(key), "%s:%" PRIx64 ":%" PRIx64 ":%" PRIx64 ":%" PRIx64,
		 f->name, i->device, i->inode, i->bytes, (uint64_t)i->modified_ns);
	*ret = cached(s, key);
	if (*ret)
		return 0;
	pthread_mutex_lock(&s->reading);
	*ret = cached(s, key);
	if (!*ret) {
		rc = make(s, fd, i->name, f, ret, e);
		if (rc == 0) {
			pthread_mutex_lock(&s->lock);
			us_cache_put(&s->cache, key, *ret);
			pthread_mutex_unlock(&s->lock);
		}
	}
	pthread_mutex_unlock(&s->reading);
	return rc;
}

void us_serve_recording(struct us_serve *s, const char *name, const struct us_format *f,
			struct us_http_reply *r)
{
	struct us_shelf_item i;
	struct us_err e = { 0 };
	_cleanup_close_ int fd = -1;
	int rc = us_shelf_open(shelf_of(s), name, &fd, &i, &e);
	if (rc == 0)
		rc = get(s, fd, &i, f, &r->body, &e);
	if (rc)
		us_serve_refuse(r, rc == -ENOENT ? 404 : rc == -ENOMEM ? 503 : 422, &e);
}
