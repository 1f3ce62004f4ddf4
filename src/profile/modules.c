/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile/modules.c: which images give the names.
 *
 * A wrong name is worse than none: an image is used only without evidence against it.
 */
#include "profile/profile_priv.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "symbol/elf_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define US_PROFILE_PIECE 4096 /* bytes; docs/format.md */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool same_id(const struct us_module *a, const struct us_module *b)
{
	return a->build_id_len && a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, a->build_id_len);
}

static bool same_build(const struct us_module *a, const struct us_module *b)
{
	return same_id(a, b) || (a->code_hash && a->code_hash == b->code_hash);
}

/* Debug files have no code, and old recordings no hash: they do not tell. */
static bool other_build(const struct us_module *a, const struct us_module *b)
{
	return (a->build_id_len && b->build_id_len && !same_id(a, b)) ||
	       (a->code_hash && b->code_hash && a->code_hash != b->code_hash);
}

static void take_build_id(struct us_module *m, const struct us_elf_image *i)
{
	size_t len = 0;
	const uint8_t *id = us_elf_image_build_id(i, &len);
	if (len > US_BUILD_ID_MAX) /* as in a recording */
		len = US_BUILD_ID_MAX;
	if (len)
		memcpy(m->build_id, id, len);
	m->build_id_len = (uint8_t)len;
	m->code_hash = len ? 0 : us_elf_image_code_hash(i);
}

/* Cut "@bias" off path; false if it has none, or is the name of a file. */
static bool split_bias(char *path, uint64_t *ret_bias)
{
	char *at = strrchr(path, '@'), *end;
	if (!at || !at[1] || strchr(at + 1, ' ') || access(path, F_OK) == 0)
		return false;
	errno = 0;
	uint64_t bias = strtoull(at + 1, &end, 0);
	if (errno || *end)
		return false;
	*at = '\0';
	*ret_bias = bias;
	return true;
}

static bool same_name(const struct us_module *a, const struct us_module *b)
{
	return !strcmp(base_name(a->path), base_name(b->path));
}

static int no_memory(struct us_err *e)
{
	return us_fail(e, -ENOMEM, "report: out of memory");
}

/* Symbols and lines of an image that are in a separate file. */
static void find_debug(struct us_profile *p, struct us_elf_image *image)
{
	struct us_err why = { 0 };
	int rc = us_elf_image_find_debug(image, &p->opts.dirs, &why);
	char damage[400];
	size_t n;
	if (rc && rc != -ENOENT)
		us_profile_warn(p, "%s", why.msg);
	if (us_elf_image_damage(image, damage, sizeof(damage)))
		us_profile_warn(
			p,
			"%s: it was left out, so names or lines may be missing; "
			"copy or build the file again",
			damage);
	us_elf_image_symbols(image, &n);
	if (rc == -ENOENT && !n)
		snprintf(p->stripped, sizeof(p->stripped), "%.100s",
			 base_name(us_elf_image_path(image)));
}

/* A single page of the image, at another address than the rest. */
static bool is_piece(const struct us_elf_image *image, const struct us_module *m)
{
	const struct us_elf_file *f = us_elf_image_file(image);
	uint64_t size = 0;
	for (size_t k = 0; k < f->n_code; k++)
		size += f->code[k].end - f->code[k].start;
	return m->end - m->start == US_PROFILE_PIECE &&
	       m->start % US_PROFILE_PIECE == 0 && size > US_PROFILE_PIECE;
}

bool us_profile_is_kernels(const struct us_module *m)
{
	return m->match == US_MATCH_YES && !m->root && !(m->start >> 63);
}

static int place(struct us_profile *p, const struct us_elf_image *image,
		 const struct us_profile_module *x, struct us_err *e)
{
	const struct us_module *m = &x->m;
	struct us_symbol_place at = { .bias = m->bias,
				      .root = m->root,
				      .is_kernels = us_profile_is_kernels(m),
				      .start = m->start,
				      .end = is_piece(image, m) ? m->end : 0 };
	us_profile_module_times(p, x, &at.from_ns, &at.until_ns);
	return us_symbols_place(p->symbols, image, &at) ? no_memory(e) : 0;
}

/* ---- Images given by -e ---- */

static void warn_of_given(struct us_profile *p, const struct us_module *m,
			  const struct us_module *twin)
{
	if (twin && same_build(twin, m) && twin->match == US_MATCH_YES)
		return;
	if (twin && same_build(twin, m) && twin->match == US_MATCH_NO &&
	    twin->bias == m->bias)
		us_profile_warn(p,
				"%s (given by -e): its text was NOT that in the guest: "
				"its names are likely wrong",
				m->path);
	else
		us_profile_warn(p,
				"%s (given by -e) was not compared with the guest's "
				"memory: its names are right only if it is the image "
				"that ran",
				m->path);
}

/* What shows that a given image replaces a recorded one: the first of these that is
 * true of any. */
enum how {
	BY_BUILD,
	BY_NAME,
	BY_SPAN, /* its text was linked at the same addresses, and may be the same */
	BY_PLACE,
	N_HOW,
};

static bool stands_for(const struct us_module *given, const struct us_module *r,
		       enum how how)
{
	switch (how) {
	case BY_BUILD:
		return same_build(r, given);
	case BY_NAME:
		return same_name(r, given);
	case BY_SPAN:
		return r->start - r->bias == given->start - given->bias &&
		       r->end - r->bias == given->end - given->bias &&
		       !other_build(r, given);
	default:
		return r->start < given->end && given->start < r->end;
	}
}

/* What a given image takes over from the recorded ones that it replaces. */
struct twins {
	const struct us_module *best; /* NULL: it replaces none */
	enum how how;
	bool moved;  /* it belongs at their addresses, ... */
	bool placed; /* ... where it is now */
};

/* The replaced ones are not opened, and get no warnings. */
static int replace_twins(struct us_profile *p, const struct us_module *g, bool fixed,
			 const struct us_elf_image *image, size_t n_recorded,
			 struct twins *ret, struct us_err *e)
{
	int rc = 0;
	*ret = (struct twins){ 0 };
	for (; ret->how < N_HOW && !ret->best && !rc; ret->how++)
		for (size_t i = 0; i < n_recorded && rc == 0; i++) {
			struct us_profile_module *r = &p->modules.v[i];
			bool piece = is_piece(image, &r->m);
			if (!stands_for(g, &r->m, ret->how) ||
			    (piece && ret->how == BY_PLACE) ||
			    (fixed && ret->how == BY_SPAN))
				continue;
			if (!piece && (!ret->best || r->m.match == US_MATCH_YES))
				ret->best = &r->m;
			r->given = true;
			ret->moved = !fixed && ret->how != BY_PLACE;
			if (!ret->moved || r->m.match == US_MATCH_NO)
				continue;
			ret->placed = true;
			rc = place(p, image, r, e);
		}
	return rc;
}

/* At the address from the user or the recording, else where it was linked. */
static int place_given(struct us_profile *p, struct us_profile_module *given,
		       bool fixed, const struct us_elf_image *image, size_t n_recorded,
		       struct us_err *e)
{
	struct us_module *g = &given->m;
	struct twins t;
	us_elf_image_text(image, &g->start, &g->end);
	g->start += g->bias;
	g->end += g->bias;
	int rc = replace_twins(p, g, fixed, image, n_recorded, &t, e);
	if (rc)
		return rc;
	if (t.best && t.moved) {
		g->bias = t.best->bias;
		g->start += g->bias;
		g->end += g->bias;
	}
	warn_of_given(p, g, t.best);
	if (t.best)
		g->match = same_build(t.best, g) ? t.best->match : US_MATCH_UNKNOWN;
	return t.placed ? 0 : place(p, image, given, e);
}

static int add_given(struct us_profile *p, struct us_profile_module *g,
		     const char *spec, size_t n_recorded, struct us_err *e)
{
	struct us_elf_image *image = NULL;
	bool fixed = split_bias((char *)g->m.path, &g->m.bias);
	int rc = us_elf_image_open(g->m.path, &image, e);
	if (rc) {
		us_wrap(e, "-e %s", spec);
		return rc == -ENOEXEC ? -EINVAL : rc; /* that is of the recording */
	}
	find_debug(p, image);
	rc = us_symbols_add_image(p->symbols, image, e);
	if (rc)
		return rc;
	take_build_id(&g->m, image);
	g->given = g->used = true;
	g->recording = US_PROFILE_ANY_RECORDING;
	return place_given(p, g, fixed, image, n_recorded, e);
}

/* ---- Images of the recording ---- */

/* Older recordings do not state the hash. */
static const char *what_changed(const struct us_module *was,
				const struct us_module *now)
{
	if (was->build_id_len)
		return same_id(was, now) ? NULL : "another build-id";
	bool known = was->code_hash && (now->build_id_len || now->code_hash);
	return known && was->code_hash != now->code_hash ? "other code" : NULL;
}

/* False, with a warning, if there is evidence against the image. */
static bool is_right(struct us_profile *p, const struct us_module *m,
		     const struct us_elf_image *image, bool named)
{
	struct us_module now = { 0 };
	take_build_id(&now, image);
	const char *change = what_changed(m, &now);
	if (change) {
		us_profile_warn(p,
				"%s has changed since the recording (%s): %s; give the "
				"image that ran by -e ELF",
				m->path, change,
				named ? "functions have the names that the recording "
					"holds, without source lines"
				      : "addresses are shown instead of wrong names");
		return false;
	}
	if (m->match == US_MATCH_UNKNOWN)
		us_profile_warn(p,
				"%s could not be compared with the guest's memory: its "
				"names are right only if it is the image that ran",
				m->path);
	return true;
}

/* Open it at its path, else (on another machine, after an update) by its build-id. */
static int open_image(struct us_profile *p, const struct us_module *m,
		      struct us_elf_image **ret, struct us_err *why)
{
	struct us_module now = { 0 };
	struct us_err e;
	char path[US_DEBUG_PATH];
	int rc = us_elf_image_open(m->path, ret, why);
	if (rc == 0)
		take_build_id(&now, *ret);
	if ((rc == 0 && (!m->build_id_len || same_id(m, &now))) || rc == -ENOMEM ||
	    !us_debug_file_by_id(m->build_id, m->build_id_len, &p->opts.dirs, path))
		return rc;
	struct us_elf_image *other;
	if (us_elf_image_open(path, &other, &e) != 0)
		return rc;
	take_build_id(&now, other);
	if (!same_id(m, &now)) {
		us_elf_image_close(other);
		return rc;
	}
	if (rc == 0)
		us_elf_image_close(*ret);
	*ret = other;
	return us_elf_image_call(other, m->path);
}

static int open_recorded(struct us_profile *p, const struct us_module *m,
			 struct us_elf_image **ret, struct us_err *e)
{
	struct us_elf_image *named;
	struct us_err why;
	int rc = us_profile_image_of_names(p, m, &named);
	if (rc == 0)
		rc = open_image(p, m, ret, &why);
	if (rc == -ENOMEM) {
		us_elf_image_close(named);
		return no_memory(e);
	}
	if (rc && named)
		us_profile_warn(p,
				"%s; functions have the names that the recording "
				"holds, without source lines; give the image by -e ELF",
				why.msg);
	else if (rc)
		us_profile_warn(p, "no names: %s; give the image by -e ELF", why.msg);
	else
		find_debug(p, *ret);
	if (rc == 0 && is_right(p, m, *ret, named)) {
		us_elf_image_close(named);
		return us_symbols_add_image(p->symbols, *ret, e);
	}
	if (rc == 0)
		us_elf_image_close(*ret);
	*ret = named;
	return named ? us_symbols_add_image(p->symbols, named, e) : 0;
}

/* "0.0-2.1 s, 4.5-6.0 s": when an image was seen; false: always, or never. */
static bool times_of(const struct us_profile *p, const struct us_module *m,
		     size_t n_recorded, char *dst, size_t size)
{
	bool ended = false;
	size_t at = 0;
	dst[0] = '\0';
	for (size_t i = 0; i < n_recorded && at < size; i++) {
		const struct us_module *r = &p->modules.v[i].m;
		if (r->match != US_MATCH_YES || r->root || !us_module_same_image(r, m))
			continue;
		ended |= r->until_ns != 0;
		at += (size_t)snprintf(dst + at, size - at, "%s%.1f-", at ? ", " : "",
				       (double)r->from_ns / 1e9);
		if (at < size && r->until_ns)
			at += (size_t)snprintf(dst + at, size - at, "%.1f s",
					       (double)r->until_ns / 1e9);
	}
	return ended;
}

static void warn_of_differing(struct us_profile *p, const struct us_module *m)
{
	us_profile_warn(p,
			"%s is NOT what ran in the guest (its text differs from "
			"the guest's memory): addresses are shown instead of "
			"wrong names; give the image that ran by -e ELF[@BIAS]",
			m->path);
}

/* Open the image of the first entry, and of all entries with the same image. */
static int add_recorded(struct us_profile *p, size_t first, size_t n_recorded,
			struct us_err *e)
{
	const struct us_module *m = &p->modules.v[first].m;
	struct us_elf_image *image = NULL;
	bool seen = false, used = false;
	char times[256];
	int rc = 0;
	for (size_t i = first; i < n_recorded; i++)
		if (us_module_same_image(&p->modules.v[i].m, m)) {
			seen |= p->modules.v[i].m.match != US_MATCH_NO;
			if (p->modules.v[i].m.match == US_MATCH_YES)
				m = &p->modules.v[i].m;
		}
	if (!seen) {
		warn_of_differing(p, m);
		return 0;
	}
	rc = open_recorded(p, m, &image, e);
	for (size_t i = first; image && rc == 0 && i < n_recorded; i++) {
		struct us_profile_module *r = &p->modules.v[i];
		if (!us_module_same_image(&r->m, m) || r->m.match == US_MATCH_NO)
			continue;
		rc = place(p, image, r, e);
		r->used = used = true;
	}
	if (used && times_of(p, m, n_recorded, times, sizeof(times)))
		us_profile_warn(p,
				"%s was in the guest at %s only: at other times "
				"addresses are shown instead of its names",
				m->path, times);
	return rc;
}

static bool is_first(const struct us_profile *p, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (us_module_same_image(&p->modules.v[k].m, &p->modules.v[i].m))
			return false;
	return true;
}

static int add_all_given(struct us_profile *p, size_t n_recorded, struct us_err *e)
{
	for (size_t i = 0; i < p->opts.n_image; i++) {
		char *path = strdup(p->opts.images[i]);
		struct us_profile_module g = { .m.path = path }, *slot;
		if (!path)
			return no_memory(e);
		int rc = add_given(p, &g, p->opts.images[i], n_recorded, e);
		slot = rc ? NULL : us_vec_push(&p->modules);
		if (!slot)
			free(path);
		if (rc)
			return rc;
		if (!slot)
			return no_memory(e);
		*slot = g;
	}
	return 0;
}

int us_profile_open_modules(struct us_profile *p, struct us_err *e)
{
	size_t n_recorded = p->modules.n;
	int rc = us_naming_adopt(p->naming, p);
	if (rc)
		return rc > 0 ? 0 : no_memory(e);
	rc = add_all_given(p, n_recorded, e);
	for (size_t i = 0; i < n_recorded && rc == 0; i++)
		if (!p->modules.v[i].given && is_first(p, i))
			rc = add_recorded(p, i, n_recorded, e);
	if (!rc && us_naming_keep(p->naming, p))
		rc = no_memory(e);
	return rc;
}
