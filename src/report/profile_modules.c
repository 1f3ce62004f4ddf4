/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_modules.c: which images give the names.
 *
 * A wrong name is worse than none: an image is used only if nothing speaks against it.
 */
#include "report/profile_priv.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

static void take_build_id(struct us_module *m, const struct us_elf_image *i)
{
	size_t len = 0;
	const uint8_t *id = us_elf_image_build_id(i, &len);
	if (!id || len > US_BUILD_ID_MAX)
		len = 0;
	if (len)
		memcpy(m->build_id, id, len);
	m->build_id_len = (uint8_t)len;
}

/* Cut "@bias" off path; false if it has none. */
static bool split_bias(char *path, uint64_t *ret_bias)
{
	char *at = strrchr(path, '@'), *end;
	if (!at || !at[1] || strchr(at + 1, ' '))
		return false;
	errno = 0;
	uint64_t bias = strtoull(at + 1, &end, 0);
	if (errno || *end)
		return false;
	*at = '\0';
	*ret_bias = bias;
	return true;
}

/* The image of the recording that a given one stands for: the same build, else the
 * same name, else the same place. */
static struct us_profile_module *twin_of(struct us_profile *p,
					 const struct us_module *g, bool place)
{
	struct us_profile_module *named = NULL, *placed = NULL;
	for (size_t i = 0; i < p->modules.n; i++) {
		struct us_profile_module *r = &p->modules.v[i];
		if (r->given)
			continue;
		if (same_id(&r->m, g))
			return r;
		if (!strcmp(base_name(r->m.path), base_name(g->path)))
			named = r;
		if (place && r->m.start < g->end && g->start < r->m.end)
			placed = r;
	}
	return named ? named : placed;
}

static void warn_of_given(struct us_profile *p, const struct us_module *m,
			  const struct us_profile_module *twin)
{
	if (twin && same_id(&twin->m, m) && twin->m.match == US_MATCH_YES)
		return;
	if (twin && same_id(&twin->m, m) && twin->m.match == US_MATCH_NO &&
	    twin->m.bias == m->bias)
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

static int add_given(struct us_profile *p, struct us_profile_module *g,
		     const char *spec, struct us_err *e)
{
	struct us_elf_image *image = NULL;
	bool fixed = split_bias((char *)g->m.path, &g->m.bias);
	int rc = us_elf_image_open(g->m.path, &image, e);
	if (rc)
		return us_wrap(e, "-e %s", spec);
	take_build_id(&g->m, image);
	us_elf_image_text(image, &g->m.start, &g->m.end);
	struct us_profile_module *twin = twin_of(p, &g->m, false);
	if (!fixed && twin)
		g->m.bias = twin->m.bias;
	g->m.start += g->m.bias;
	g->m.end += g->m.bias;
	twin = twin_of(p, &g->m, true);
	warn_of_given(p, &g->m, twin);
	if (twin) {
		g->m.match = same_id(&twin->m, &g->m) ? twin->m.match
						      : US_MATCH_UNKNOWN;
		twin->given = true; /* replaced: neither opened nor warned of */
	}
	g->given = g->used = true;
	return us_symbols_add(p->symbols, image, g->m.bias, e);
}

/* Does anything speak against the image? If so says it, in a warning. */
static bool is_right(struct us_profile *p, const struct us_module *m,
		     const struct us_elf_image *image)
{
	struct us_module now = { 0 };
	take_build_id(&now, image);
	if (m->build_id_len && !same_id(m, &now)) {
		us_profile_warn(
			p,
			"%s has changed since the recording (another build-id): "
			"addresses are shown instead of wrong names; give the "
			"image that ran by -e ELF",
			m->path);
		return false;
	}
	if (m->match == US_MATCH_UNKNOWN)
		us_profile_warn(p,
				"%s could not be compared with the guest's memory: its "
				"names are right only if it is the image that ran",
				m->path);
	return true;
}

static int add_recorded(struct us_profile *p, struct us_profile_module *r,
			struct us_err *e)
{
	struct us_elf_image *image = NULL;
	struct us_err why;
	if (r->m.match == US_MATCH_NO) {
		us_profile_warn(
			p,
			"%s is NOT what ran in the guest (its text differs from "
			"the guest's memory): addresses are shown instead of "
			"wrong names; give the image that ran by -e ELF[@BIAS]",
			r->m.path);
		return 0;
	}
	int rc = us_elf_image_open(r->m.path, &image, &why);
	if (rc == -ENOMEM)
		return us_fail(e, rc, "%s", why.msg);
	if (rc) {
		us_profile_warn(p, "no names: %s; give the image by -e ELF", why.msg);
		return 0;
	}
	if (!is_right(p, &r->m, image)) {
		us_elf_image_close(image);
		return 0;
	}
	r->used = true;
	return us_symbols_add(p->symbols, image, r->m.bias, e);
}

int us_profile_open_modules(struct us_profile *p, struct us_err *e)
{
	size_t n_recorded = p->modules.n;
	for (size_t i = 0; i < p->opts.n_image; i++) {
		char *path = strdup(p->opts.images[i]);
		struct us_profile_module g = { .m.path = path }, *slot;
		if (!path)
			return us_fail(e, -ENOMEM, "report: out of memory");
		int rc = add_given(p, &g, p->opts.images[i], e);
		slot = rc ? NULL : us_vec_push(&p->modules);
		if (!slot)
			free(path);
		if (rc)
			return rc;
		if (!slot)
			return us_fail(e, -ENOMEM, "report: out of memory");
		*slot = g;
	}
	for (size_t i = 0; i < n_recorded; i++) {
		if (p->modules.v[i].given)
			continue;
		int rc = add_recorded(p, &p->modules.v[i], e);
		if (rc)
			return rc;
	}
	return 0;
}
