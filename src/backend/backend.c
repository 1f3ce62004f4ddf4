/* SPDX-License-Identifier: GPL-2.0-or-later */
/* backend.c: the table of backends, and how one is chosen. */
#include "backend/backend.h"

#include "base/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

extern const struct us_backend_ops us_backend_bpf, us_backend_kvm, us_backend_plugin,
	us_backend_gdb, us_backend_qmp, us_backend_xen, us_backend_fake;

const struct us_backend_ops *const us_backends[] = {
	&us_backend_bpf, &us_backend_kvm, &us_backend_plugin, &us_backend_gdb,
	&us_backend_qmp, &us_backend_xen, &us_backend_fake,   NULL,
};

const struct us_backend_ops *us_backend_by_name(const char *name)
{
	for (size_t i = 0; us_backends[i]; i++)
		if (!strcmp(us_backends[i]->name, name))
			return us_backends[i];
	return NULL;
}

bool us_capture_begin(struct us_capture *c, struct us_paging *p)
{
	if (c->form != US_CAPTURE_LIVE && c->form != US_CAPTURE_WINDOW)
		return false;
	us_paging_new_sample(p);
	p->stack = c->form == US_CAPTURE_WINDOW ? &c->window : NULL;
	return true;
}

void us_capture_judge(struct us_capture *c, const struct us_stack *s)
{
	c->cut = c->form == US_CAPTURE_WINDOW && c->window.missed && !c->window.held &&
		 s->end != US_END_ROOT && s->end != US_END_DEPTH;
}

/* Append to a text of size bytes; truncates what does not fit. */
static void append(char *text, size_t size, const char *more)
{
	size_t at = strlen(text), n = strlen(more);
	if (n > size - 1 - at)
		n = size - 1 - at;
	memcpy(text + at, more, n);
	text[at + n] = '\0';
}

int us_backend_check(const char *name, struct us_err *e)
{
	if (!strcmp(name, "auto") || us_backend_by_name(name))
		return 0;
	struct us_nearest near = us_nearest_to(name);
	char question[64];
	us_nearest_try(&near, "auto");
	for (const struct us_backend_ops *const *o = us_backends; *o; o++)
		if (*o != &us_backend_fake)
			us_nearest_try(&near, (*o)->name);
	us_fail(e, -EINVAL, "there is no backend called %.200s%s", name,
		us_nearest_question(&near, question, sizeof(question)));
	us_hint(e, "one of %s", near.list);
	return -EINVAL;
}

int us_backend_check_processor(const char *name, struct us_err *e)
{
	static const char *const known[] = { "", "x86_64", "i386", "aarch64",
					     "riscv64" };
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(name, known[i]))
			return 0;
	return us_fail(e, -ENOTSUP,
		       "the guest's processor is %s; uniscope knows "
		       "x86_64, i386, aarch64 and riscv64",
		       name);
}

int us_backend_check_protection(const char *kind, struct us_err *e)
{
	if (!kind[0])
		return 0;
	us_fail(e, -ENOTSUP,
		"the guest is protected from its host (%s): %s encrypted and "
		"cannot be read",
		kind,
		strcmp(kind, "SEV") ? "its registers and memory are" : "its memory is");
	us_hint(e, "start it without this protection, or profile it from the inside");
	return -ENOTSUP;
}

/* No backend can do anything with such a guest. */
static int check_guest(const struct us_guest *g, struct us_err *e)
{
	int r = g ? us_backend_check_processor(g->processor, e) : 0;
	return r == 0 && g ? us_backend_check_protection(g->protection, e) : r;
}

int us_backend_probe(const struct us_backend_ops *o, const struct us_target *t,
		     struct us_err *why)
{
	if (check_guest(t->guest, why) < 0)
		return 0;
	return o->probe(t, why);
}

/* An invented guest has to be asked for, and a Xen domain has only one backend. */
static bool is_for(const struct us_backend_ops *o, const struct us_target *t)
{
	if (o == &us_backend_fake)
		return t->fake;
	return (o == &us_backend_xen) == (t->xen != NULL);
}

static void hint_other(const struct us_backend_ops *failed, const struct us_target *t,
		       struct us_err *e)
{
	for (size_t i = 0; us_backends[i]; i++) {
		const struct us_backend_ops *o = us_backends[i];
		struct us_err why;
		if (o == failed || !is_for(o, t) || o->probe(t, &why) <= 0)
			continue;
		us_hint(e, "use --backend %s, which can sample this guest", o->name);
		return;
	}
}

static int open_by_name(const struct us_target *t, const char *name,
			struct us_backend **ret, struct us_err *e)
{
	const struct us_backend_ops *o = us_backend_by_name(name);
	int known = us_backend_check(name, e);
	if (!o)
		return known < 0 ? known : -EINVAL;
	int r = o->open(t, ret, e);
	if (r < 0 && r != -ESRCH && e && !e->hint[0])
		hint_other(o, t, e);
	return r < 0 ? us_wrap(e, "backend %s", o->name) : 0;
}

/* The user named a socket, of no process of this host: what else a guest could have
 * does not help. */
static bool names_socket(const struct us_target *t)
{
	return !t->guest && (t->gdb[0] || t->qmp[0]);
}

static bool is_of_socket(const struct us_backend_ops *o, const struct us_target *t)
{
	return (o == &us_backend_gdb && t->gdb[0]) ||
	       (o == &us_backend_qmp && t->qmp[0]);
}

/* Open the first usable backend; refused gets why those before it are not usable. */
static int open_first(const struct us_target *t, struct us_backend **ret, char *refused,
		      size_t size, struct us_err *e)
{
	struct us_err first = { 0 };
	for (size_t i = 0; us_backends[i]; i++) {
		const struct us_backend_ops *o = us_backends[i];
		struct us_err why = { 0 };
		if (!is_for(o, t))
			continue;
		if (o->probe(t, &why) > 0 && o->open(t, ret, &why) == 0)
			return 0;
		append(refused, size, refused[0] ? "; " : "");
		append(refused, size, o->name);
		append(refused, size, ": ");
		append(refused, size, why.msg);
		if (names_socket(t) && !is_of_socket(o, t))
			continue;
		/* What is there and refuses is nearer than what is not there. */
		bool nearer = first.code == -ENODEV && why.code != -ENODEV &&
			      why.hint[0];
		if (!first.hint[0] || nearer)
			first = why;
	}
	/* Whatever keeps us from it, such as its host's name. */
	if (names_socket(t) && !first.hint[0])
		first.code = -ENODEV;
	us_fail(e, first.code ? first.code : -ENODEV,
		"no backend can sample this guest: %s", refused);
	us_hint(e, "%s",
		first.hint[0] ? first.hint
		: names_socket(t)
			? "see that it listens there, and that this is its address"
			: "run: uniscope ps");
	return first.code ? first.code : -ENODEV;
}

int us_backend_open(const struct us_target *t, const char *name,
		    struct us_backend **ret, char *why, size_t size, struct us_err *e)
{
	struct us_backend *b = NULL;
	char refused[400] = "";
	bool chosen = name && strcmp(name, "auto") != 0;
	int r = check_guest(t->guest, e);
	if (r < 0)
		return us_wrap(e, "this guest cannot be inspected");
	r = chosen ? open_by_name(t, name, &b, e)
		   : open_first(t, &b, refused, sizeof(refused), e);
	if (r < 0)
		return r;
	if (why && chosen)
		snprintf(why, size, "%s, as asked", b->ops->name);
	else if (why)
		snprintf(why, size, "%s%s%s", b->ops->name, refused[0] ? "; not " : "",
			 refused);
	*ret = b;
	return 0;
}

void us_backend_warning(const struct us_backend *b, char *ret, size_t size)
{
	snprintf(ret, size, "%s%s%s", b->caution,
		 b->caution[0] && b->hazard[0] ? ". " : "", b->hazard);
}

void us_backend_close(struct us_backend *b)
{
	if (b)
		b->ops->close(b);
}

void us_backend_let_go(struct us_backend *b)
{
	if (b->ops->let_go)
		b->ops->let_go(b);
}
