/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target.c: see target.h. */
#include "cmd/target.h"

#include "backend/fake/fake.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/text.h"
#include "vmm/socket_peer.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Copy what follows the scheme; an endpoint that does not fit is an error. */
static int set_endpoint(char dst[US_ENDPOINT_SIZE], const char *text, struct us_err *e)
{
	const char *colon = strchr(text, ':');
	const char *address = colon ? colon + 1 : text;
	if (!*address)
		return us_fail(e, -EINVAL, "target %s names no socket", text);
	if (strlen(address) >= US_ENDPOINT_SIZE)
		return us_fail(e, -ENAMETOOLONG, "target %s is too long", text);
	strcpy(dst, address);
	return 0;
}

static bool has_scheme(const char *text, const char *scheme)
{
	return text && !strncmp(text, scheme, strlen(scheme));
}

void us_target_of_guest(struct us_found *f)
{
	const struct us_guest *g = &f->guest;
	f->target.guest = g;
	if (!f->target.qmp[0] && g->qmp[0])
		(void)set_endpoint(f->target.qmp, g->qmp, NULL);
	if (!f->target.gdb[0] && g->gdb[0])
		(void)set_endpoint(f->target.gdb, g->gdb, NULL);
	char name[sizeof(g->name)];
	us_printable(name, sizeof(name), g->name);
	snprintf(f->text, sizeof(f->text), "%s %d%s%s%s", g->vmm, (int)g->pid,
		 name[0] ? " (" : "", name, name[0] ? ")" : "");
}

/* A guest of this host whose command line has this endpoint, or whose VMM listens
 * there: its monitor may have started a stub later.  NULL: none. */
static const struct us_guest *guest_behind(const struct us_guest_list *l,
					   const char *text)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].qmp, text) || !strcmp(l->v[i].gdb, text))
			return &l->v[i];
	pid_t pid = l->n ? us_socket_server_pid(text + 4) : 0;
	for (size_t i = 0; pid && i < l->n; i++)
		if (l->v[i].pid == pid)
			return &l->v[i];
	return NULL;
}

/* "host:port", where no part is a folder. */
static bool has_port(const char *address)
{
	const char *colon = strrchr(address, ':');
	return colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")] &&
	       !strchr(address, '/');
}

/* The endpoint as others know it: a path of ours may be relative. */
static void make_absolute(const char *text, char *ret, size_t size)
{
	char cwd[PATH_MAX];
	const char *address = text + strlen("gdb:"); /* or qmp: */
	bool path = *address && *address != '/' && !has_port(address);
	if (!path || !getcwd(cwd, sizeof(cwd)))
		snprintf(ret, size, "%s", text);
	else
		snprintf(ret, size, "%.4s%s/%s", text, strcmp(cwd, "/") ? cwd : "",
			 address + (strncmp(address, "./", 2) ? 0 : 2));
}

static int resolve_endpoint(const struct us_guest_list *l, const char *given,
			    struct us_found *ret, struct us_err *e)
{
	char text[2 * PATH_MAX];
	bool qmp = has_scheme(given, "qmp:");
	make_absolute(given, text, sizeof(text));
	int r = set_endpoint(qmp ? ret->target.qmp : ret->target.gdb, text, e);
	if (r < 0)
		return r;
	const struct us_guest *g = guest_behind(l, text);
	if (g) {
		ret->guest = *g;
		us_target_of_guest(ret);
	} else {
		us_printable(ret->text, sizeof(ret->text), text);
	}
	/* The user named one endpoint: do not use the other one. */
	(qmp ? ret->target.gdb : ret->target.qmp)[0] = '\0';
	return 0;
}

void us_target_of_domain(struct us_found *f)
{
	const struct us_xen_guest *g = &f->xen;
	char name[sizeof(g->name)];
	us_printable(name, sizeof(name), g->name);
	f->target.xen = g;
	snprintf(f->text, sizeof(f->text), "xen:%u%s%s%s", g->domain.id,
		 name[0] ? " (" : "", name, name[0] ? ")" : "");
}

static int resolve_domain(const char *text, struct us_found *ret, struct us_err *e)
{
	_cleanup_(us_xen_list_fini) struct us_xen_list l = { 0 };
	int r = us_xen_list_scan(&l, e);
	if (r == 0)
		r = us_xen_select(&l, text, &ret->xen, e);
	if (r == 0)
		us_target_of_domain(ret);
	return r;
}

/* No guest has this name, or there is no guest: the user may mean a domain. */
static bool is_domain(const char *text, struct us_found *ret)
{
	bool pid = text && text[strspn(text, "0123456789")] == '\0';
	return !pid && resolve_domain(text ? text : "", ret, NULL) == 0;
}

/* "qpm:/run/vm.sock" is no guest's name, but nearly a known scheme. */
static void hint_scheme(const char *text, struct us_err *e)
{
	static const char *const schemes[] = { "qmp", "gdb", "xen" };
	char scheme[16];
	size_t len = text ? strcspn(text, ":") : 0;
	if (!len || !text[len] || len >= sizeof(scheme))
		return;
	memcpy(scheme, text, len);
	scheme[len] = '\0';
	struct us_nearest near = us_nearest_to(scheme);
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		us_nearest_try(&near, schemes[i]);
	if (near.best)
		us_hint(e, "did you mean %s:%.100s? Ways in are: qmp:, gdb:, xen:",
			near.best, text + len + 1);
}

int us_target_resolve(const char *text, struct us_found *ret, struct us_err *e)
{
	_cleanup_(us_guest_list_fini) struct us_guest_list l = { 0 };
	memset(ret, 0, sizeof(*ret));
	if (has_scheme(text, "fake:")) {
		static const struct us_fake_opts fake = { .n_vcpu = 2, .n_stack = 16 };
		ret->target.fake = &fake;
		snprintf(ret->text, sizeof(ret->text), "an invented guest");
		return 0;
	}
	if (has_scheme(text, "xen:"))
		return resolve_domain(text + 4, ret, e);
	int r = us_guest_list_scan(&l, e);
	/* An address works even if the host's processes cannot be listed. */
	if (has_scheme(text, "qmp:") || has_scheme(text, "gdb:"))
		return resolve_endpoint(&l, text, ret, e);
	if (r < 0)
		return r;
	r = us_guest_select(&l, text, &ret->guest, e);
	if (r == -ENOENT && is_domain(text, ret))
		return 0;
	if (r == -ENOENT)
		hint_scheme(text, e);
	if (r < 0)
		return r;
	us_target_of_guest(ret);
	return 0;
}
