/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/domains.c: see xen/domains.h. */
#include "vmm/xen/domains.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/vec.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_DOMAINS 32768 /* numbers from 0x7ff0 on are Xen's own */

/* Up to Xen 4.15 it was .so.3.0, of which the part used here is the same. */
static const char *const store_libs[] = { "libxenstore.so.4", "libxenstore.so.3.0" };

/* libxenstore, as far as it is used (xenstore.h of libxen-dev). */
struct store {
	void *handle;
	void *(*open)(unsigned long flags);
	void (*close)(void *handle);
	void *(*read)(void *handle, uint32_t transaction, const char *path,
		      unsigned *len);
	char **(*directory)(void *handle, uint32_t transaction, const char *path,
			    unsigned *n);
};

/* NULL, or why there are no names. */
static const char *store_open(struct store *s)
{
	void *lib = NULL;
	memset(s, 0, sizeof(*s));
	for (size_t i = 0; !lib && i < sizeof(store_libs) / sizeof(*store_libs); i++)
		lib = dlopen(store_libs[i], RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return "there is no libxenstore";
	*(void **)&s->open = dlsym(lib, "xs_open");
	*(void **)&s->close = dlsym(lib, "xs_close");
	*(void **)&s->read = dlsym(lib, "xs_read");
	*(void **)&s->directory = dlsym(lib, "xs_directory");
	if (s->open && s->close && s->read && s->directory)
		s->handle = s->open(0);
	return s->handle ? NULL : "xenstore does not answer";
}

static void store_close(struct store *s)
{
	if (s->handle)
		s->close(s->handle);
}

/* Text at a path, "" if there is none or it is too long. */
static void store_text(const struct store *s, const char *path, char *ret, size_t size)
{
	unsigned len = 0;
	_cleanup_free_ char *text = s->handle ? s->read(s->handle, 0, path, &len)
					      : NULL;
	*ret = '\0';
	if (text && len < size) {
		memcpy(ret, text, len);
		ret[len] = '\0';
	}
}

static void name_domain(const struct store *s, struct us_xen_guest *g)
{
	char path[128], vm[64];
	snprintf(path, sizeof(path), "/local/domain/%u/name", g->domain.id);
	store_text(s, path, g->name, sizeof(g->name));
	snprintf(path, sizeof(path), "/local/domain/%u/vm", g->domain.id);
	store_text(s, path, vm, sizeof(vm));
	if (!vm[0])
		return;
	snprintf(path, sizeof(path), "%s/image/kernel", vm);
	store_text(s, path, g->kernel, sizeof(g->kernel));
}

static int add(struct us_xen_list *l, const struct store *s,
	       const struct us_xen_domain *d)
{
	struct us_xen_guest *g = us_vec_push(l);
	if (!g)
		return -ENOMEM;
	g->domain = *d;
	name_domain(s, g);
	return 0;
}

/* The next domain in xenstore; without xenstore, the next number. */
static int next_id(char **names, unsigned n, uint32_t *id)
{
	uint32_t best = MAX_DOMAINS;
	for (unsigned i = 0; i < n; i++) {
		unsigned long v = strtoul(names[i], NULL, 10);
		if (v > *id && v < best)
			best = (uint32_t)v;
	}
	if (!names)
		best = *id + 1;
	*id = best;
	return best < MAX_DOMAINS;
}

int us_xen_list_scan(struct us_xen_list *ret, struct us_err *e)
{
	const struct us_xen_calls *x = us_xen_calls();
	void *h;
	int r = x->open(&h, e);
	if (r < 0)
		return r;
	struct store s;
	ret->nameless = store_open(&s);
	unsigned n = 0;
	_cleanup_free_ char **names =
		s.handle ? s.directory(s.handle, 0, "/local/domain", &n) : NULL;
	for (uint32_t id = 0; !r && next_id(names, n, &id);) {
		struct us_xen_domain d;
		if (x->domain(h, id, &d) == 0)
			r = add(ret, &s, &d);
	}
	store_close(&s);
	x->close(h);
	return r < 0 ? us_fail(e, r, "list Xen's domains: out of memory") : 0;
}

void us_xen_list_fini(struct us_xen_list *l)
{
	free(l->v);
	*l = (struct us_xen_list){ 0 };
}

static bool is_meant(const struct us_xen_guest *g, const char *text)
{
	char number[16];
	snprintf(number, sizeof(number), "%u", g->domain.id);
	return !*text || !strcmp(text, number) || !strcmp(text, g->name);
}

static void name_all(const struct us_xen_list *l, char *text, size_t size)
{
	size_t at = 0;
	text[0] = '\0';
	for (size_t i = 0; i < l->n && at < size; i++) {
		char name[sizeof(l->v[i].name)];
		us_printable(name, sizeof(name), l->v[i].name);
		int n = snprintf(text + at, size - at, "%s%u%s%s%s", i ? ", " : "",
				 l->v[i].domain.id, name[0] ? " (" : "", name,
				 name[0] ? ")" : "");
		at += n > 0 ? (size_t)n : 0;
	}
}

/* It may be there, with this name. */
static int fail_nameless(const struct us_xen_list *l, const char *text, const char *all,
			 struct us_err *e)
{
	char printable[64];
	us_fail(e, -ENOENT,
		"find the domain xen:%s: %s, which has the domains' names; there are: "
		"%s",
		us_printable(printable, sizeof(printable), text), l->nameless,
		all[0] ? all : "only dom0");
	us_hint(e, "apt install libxenstore4 (Debian 11: libxenstore3.0), or give the "
		   "domain's number, as xl list shows it: xen:NUMBER");
	return -ENOENT;
}

static bool is_number(const char *text)
{
	return text[strspn(text, "0123456789")] == '\0';
}

static int fail_none(const struct us_xen_list *l, const char *text, const char *all,
		     struct us_err *e)
{
	char printable[64], question[96];
	struct us_nearest near = us_nearest_to(text);
	for (size_t i = 0; i < l->n; i++)
		us_nearest_try(&near, l->v[i].name);
	us_nearest_question(&near, question, sizeof(question));
	return us_fail(e, -ENOENT, "there is no domain xen:%s%s; there are: %s",
		       us_printable(printable, sizeof(printable), text),
		       us_printable_inplace(question), all[0] ? all : "only dom0");
}

int us_xen_select(const struct us_xen_list *l, const char *text,
		  struct us_xen_guest *ret, struct us_err *e)
{
	const struct us_xen_guest *found = NULL;
	char all[256], printable[64];
	us_printable(printable, sizeof(printable), text);
	name_all(l, all, sizeof(all));
	for (size_t i = 0; i < l->n; i++) {
		if (!is_meant(&l->v[i], text))
			continue;
		if (found)
			return us_fail(e, -EEXIST,
				       "xen:%s matches several domains; there are: %s",
				       printable, all);
		found = &l->v[i];
	}
	if (!found && l->nameless && !is_number(text))
		return fail_nameless(l, text, all, e);
	if (!found)
		return fail_none(l, text, all, e);
	*ret = *found;
	return 0;
}
