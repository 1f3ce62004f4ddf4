/* SPDX-License-Identifier: GPL-2.0-or-later */
/* naming.c: see naming.h. */
#include "profile/naming.h"

#include "base/vec.h"
#include "profile/guest_builds.h"
#include "profile/profile_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct us_naming {
	unsigned n_user;
	bool raw_names;
	bool settled; /* the names are sorted and in symbols */
	bool opened;  /* the images are in symbols */
	struct us_symbols *symbols;
	struct {
		struct us_guest_names *v;
		size_t n, cap;
	} guest;	/* by layout */
	unsigned asked; /* the layout whose names are looked up */
	struct us_guest_names host;
	struct us_naming_programs programs;
	/* Taken from the profile that opened them. */
	struct {
		struct us_profile_module *v;
		size_t n, cap;
	} modules;
	struct {
		char **v;
		size_t n, cap;
	} warnings;
};

int us_naming_new(bool raw_names, struct us_naming **ret, struct us_err *e)
{
	struct us_naming *n = calloc(1, sizeof(*n));
	if (!n)
		return us_fail(e, -ENOMEM, "report: out of memory");
	n->n_user = 1;
	int rc = us_symbols_new(&n->symbols, e);
	if (rc) {
		free(n);
		return rc;
	}
	n->raw_names = raw_names;
	us_symbols_demangle(n->symbols, !raw_names);
	*ret = n;
	return 0;
}

static int copy_names(struct us_naming *to, unsigned layout,
		      const struct us_guest_names *g, bool host)
{
	int rc = 0;
	for (size_t i = 0; i < g->n && !rc; i++)
		rc = us_naming_add(to, layout,
				   &(struct us_named){ g->v[i].start, g->v[i].size,
						       g->v[i].name,
						       g->modules.v[g->v[i].module] },
				   host);
	return rc;
}

int us_naming_again(const struct us_naming *n, struct us_naming **ret, struct us_err *e)
{
	struct us_naming *copy = NULL;
	int rc = us_naming_new(n->raw_names, &copy, e);
	if (!copy)
		return rc;
	for (unsigned i = 0; i < n->guest.n && !rc; i++)
		rc = copy_names(copy, i, &n->guest.v[i], false);
	if (!rc)
		rc = copy_names(copy, 0, &n->host, true);
	if (rc) {
		us_naming_unref(copy);
		return us_fail(e, rc, "report: out of memory");
	}
	*ret = copy;
	return 0;
}

struct us_naming *us_naming_ref(struct us_naming *n)
{
	n->n_user++;
	return n;
}

struct us_naming_programs *us_naming_programs(struct us_naming *n)
{
	return &n->programs;
}

static void free_programs(struct us_naming_programs *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i].path);
	free(p->v);
	free(p->places.v);
	us_pair_map_fini(&p->known);
	us_pair_map_fini(&p->placed);
	us_id_files_fini(&p->ids);
	us_id_files_fini(&p->below);
	us_debuginfod_free(p->server);
}

void us_naming_unref(struct us_naming *n)
{
	if (!n || --n->n_user)
		return;
	us_symbols_free(n->symbols);
	for (size_t i = 0; i < n->guest.n; i++)
		us_guest_names_fini(&n->guest.v[i]);
	free(n->guest.v);
	us_guest_names_fini(&n->host);
	free_programs(&n->programs);
	for (size_t i = 0; i < n->modules.n; i++)
		free((char *)n->modules.v[i].m.path);
	for (size_t i = 0; i < n->warnings.n; i++)
		free(n->warnings.v[i]);
	free(n->modules.v);
	free(n->warnings.v);
	free(n);
}

int us_naming_add(struct us_naming *n, unsigned layout, const struct us_named *f,
		  bool host)
{
	n->settled = false;
	while (n->guest.n <= layout) {
		const struct us_guest_names *slot = us_vec_push(&n->guest);
		if (!slot)
			return -ENOMEM;
	}
	return us_guest_names_add(host ? &n->host : &n->guest.v[layout], f);
}

void us_naming_ask(struct us_naming *n, unsigned layout)
{
	n->asked = layout;
}

static bool find(void *ctx, us_gva pc, struct us_symbol_name *ret)
{
	struct us_naming *n = ctx;
	return n->asked < n->guest.n &&
	       us_guest_names_find(&n->guest.v[n->asked], pc, ret);
}

struct us_symbols *us_naming_symbols(const struct us_naming *n)
{
	return n->symbols;
}

void us_naming_settle(struct us_naming *n)
{
	if (n->settled)
		return;
	for (size_t i = 0; i < n->guest.n; i++)
		us_guest_names_sort(&n->guest.v[i]);
	us_guest_names_sort(&n->host);
	us_guest_builds_number(n->guest.v, n->guest.n);
	us_guest_builds_number(&n->host, 1);
	us_symbols_set_namer(n->symbols, &(struct us_symbol_namer){ find, n });
	n->settled = true;
}

bool us_naming_has_names(const struct us_naming *n)
{
	for (size_t i = 0; i < n->guest.n; i++)
		if (n->guest.v[i].n)
			return true;
	return false;
}

bool us_naming_find_host(struct us_naming *n, us_gva pc, struct us_symbol_name *ret)
{
	return us_guest_names_find(&n->host, pc, ret);
}

static int add_module(struct us_profile *p, const struct us_profile_module *m)
{
	char *path = strdup(m->m.path);
	struct us_profile_module *slot = path ? us_vec_push(&p->modules) : NULL;
	if (!slot) {
		free(path);
		return -ENOMEM;
	}
	*slot = *m;
	slot->m.path = path;
	return 0;
}

int us_naming_adopt(const struct us_naming *n, struct us_profile *p)
{
	if (!n->opened)
		return 0;
	for (size_t i = 0; i < n->modules.n; i++) {
		if (i >= p->modules.n && add_module(p, &n->modules.v[i]))
			return -ENOMEM;
		p->modules.v[i].given = n->modules.v[i].given;
		p->modules.v[i].used = n->modules.v[i].used;
	}
	for (size_t i = 0; i < n->warnings.n; i++)
		us_profile_warn(p, "%s", n->warnings.v[i]);
	return 1;
}

int us_naming_keep(struct us_naming *n, const struct us_profile *p)
{
	if (n->n_user < 2)
		return 0;
	n->opened = true;
	for (size_t i = 0; i < p->modules.n; i++) {
		char *path = strdup(p->modules.v[i].m.path);
		struct us_profile_module *slot = path ? us_vec_push(&n->modules) : NULL;
		if (!slot) {
			free(path);
			return -ENOMEM;
		}
		*slot = p->modules.v[i];
		slot->m.path = path;
	}
	for (size_t i = 0; i < p->warnings.n; i++) {
		char *text = strdup(p->warnings.v[i]);
		char **slot = text ? us_vec_push(&n->warnings) : NULL;
		if (!slot) {
			free(text);
			return -ENOMEM;
		}
		*slot = text;
	}
	return 0;
}
