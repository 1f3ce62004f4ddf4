/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile/namesakes.c: different labels for functions of the same name.
 *
 * Used only if several functions of the profile have the same name.  First comes the
 * symbol's own name (demangle.h), then the first of these that differs for all of them:
 * file, image, path, line, address.
 */
#include "profile/profile_priv.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "symbol/demangle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LABEL 512

/* Texts that distinguish a function; false: it has none. */

static bool by_file(const struct us_profile_func *f, char dst[static LABEL])
{
	if (!f->file)
		return false;
	const char *slash = strrchr(f->file, '/');
	snprintf(dst, LABEL, "%s", slash ? slash + 1 : f->file);
	return true;
}

static bool by_module(const struct us_profile_func *f, char dst[static LABEL])
{
	snprintf(dst, LABEL, "%s", f->module ? f->module : "");
	return f->module != NULL;
}

static bool by_path(const struct us_profile_func *f, char dst[static LABEL])
{
	snprintf(dst, LABEL, "%s", f->path ? f->path : "");
	return f->path != NULL;
}

static bool by_line(const struct us_profile_func *f, char dst[static LABEL])
{
	char file[LABEL];
	if (!f->line || !by_file(f, file))
		return false;
	snprintf(dst, LABEL, "%.480s:%" PRIu32, file, f->line);
	return true;
}

static bool by_address(const struct us_profile_func *f, char dst[static LABEL])
{
	snprintf(dst, LABEL, "0x%" PRIx64, f->start);
	return f->start != 0;
}

typedef bool teller(const struct us_profile_func *f, char dst[static LABEL]);
static teller *const tellers[] = { by_file, by_module, by_path, by_line, by_address };

/* A function and its text, for sorting. */
struct entry {
	struct us_profile_func *f;
	char *label;
};

static int compare_labels(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->label,
		      ((const struct entry *)b)->label);
}

static int compare_names(const void *a, const void *b)
{
	const struct us_profile_func *x = ((const struct entry *)a)->f;
	const struct us_profile_func *y = ((const struct entry *)b)->f;
	int c = strcmp(x->name, y->name);
	return c ? c : (x > y) - (x < y);
}

static bool rename_to(struct us_profile *p, struct us_profile_func *f, char *name)
{
	char **slot = name ? us_vec_push(&p->names) : NULL;
	if (!slot) {
		free(name);
		return false;
	}
	f->name = *slot = name;
	return true;
}

/* Some symbols' names have more than the shown name. */
static bool rename_long(struct us_profile *p, struct entry *v, size_t n)
{
	char text[US_DEMANGLED_MAX];
	for (size_t i = 0; i < n; i++) {
		struct us_profile_func *f = v[i].f;
		if (f->raw != f->base &&
		    us_demangle(f->raw, US_NAME_LONG, text, sizeof(text)) &&
		    strcasecmp(text, f->base) != 0 && !rename_to(p, f, strdup(text)))
			return false;
	}
	return true;
}

static void free_labels(struct entry *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(us_take(v[i].label));
}

/* Label all with one teller; false: it does not distinguish all of them. */
static bool label_all(struct entry *v, size_t n, teller *tell)
{
	char text[LABEL];
	bool ok = true;
	for (size_t i = 0; ok && i < n; i++) {
		ok = tell(v[i].f, text);
		v[i].label = ok ? strdup(text) : NULL;
		ok = ok && v[i].label;
	}
	if (ok)
		qsort(v, n, sizeof(*v), compare_labels);
	for (size_t i = 1; ok && i < n; i++)
		ok = strcmp(v[i - 1].label, v[i].label) != 0;
	if (!ok)
		free_labels(v, n);
	return ok;
}

static bool rename_labelled(struct us_profile *p, struct entry *v, size_t n)
{
	bool ok = true;
	size_t kind = 0, kinds = sizeof(tellers) / sizeof(tellers[0]);
	while (kind < kinds && !label_all(v, n, tellers[kind]))
		kind++;
	for (size_t i = 0; ok && kind < kinds && i < n; i++) {
		char *name;
		if (asprintf(&name, "%s (%s)", v[i].f->name, v[i].label) < 0)
			name = NULL;
		ok = rename_to(p, v[i].f, name);
	}
	free_labels(v, n);
	return ok;
}

typedef bool renamer(struct us_profile *p, struct entry *v, size_t n);

static bool each_group(struct us_profile *p, struct entry *v, size_t n, renamer *rename)
{
	qsort(v, n, sizeof(*v), compare_names);
	for (size_t i = 0, end; i < n; i = end) {
		const char *name = v[i].f->name;
		for (end = i + 1; end < n; end++)
			if (strcmp(v[end].f->name, name) != 0)
				break;
		if (end - i > 1 && !rename(p, v + i, end - i))
			return false;
	}
	return true;
}

int us_profile_tell_apart(struct us_profile *p, struct us_err *e)
{
	_cleanup_free_ struct entry *v = calloc(p->funcs.n + 1, sizeof(*v));
	size_t n = 0;
	for (size_t i = 0; v && i < p->funcs.n; i++)
		if (p->funcs.v[i].known)
			v[n++].f = &p->funcs.v[i];
	if (!v || !each_group(p, v, n, rename_long) ||
	    !each_group(p, v, n, rename_labelled))
		return us_fail(e, -ENOMEM, "report: out of memory for names");
	return 0;
}
