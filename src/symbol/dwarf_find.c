/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dwarf_find.c: from source lines to addresses. */
#include "symbol/dwarf_priv.h"

#include "base/cleanup.h"
#include "base/paths.h"
#include "base/vec.h"

#include <string.h>

/* Which files of a unit, by their numbers, a search is for; NULL: none, or no memory.
 */
static bool *files_called(struct us_dwarf *d, struct us_dwarf_unit *u, const char *file)
{
	bool some = false;
	us_dwarf_need_lines(d, u);
	bool *is = calloc(u->lines.n_file + 1, sizeof(*is));
	for (size_t i = 0; is && i < u->lines.n_file; i++) {
		const char *path = us_line_table_file(&u->lines, i);
		is[i] = path && us_path_ends_with(u->comp_dir, path, file);
		some |= is[i];
	}
	if (some)
		return is;
	free(is);
	return NULL;
}

/* The row's line, if it is in one of these files, or 0. */
static uint32_t line_in(const struct us_dwarf_unit *u, const struct us_line_row *r,
			const bool *is)
{
	return !r->end && r->file < u->lines.n_file && is[r->file] ? r->line : 0;
}

static void each_address_of(struct us_dwarf *d, struct us_dwarf_unit *u,
			    const char *file, uint32_t line,
			    void (*visit)(void *ctx, uint64_t addr), void *ctx)
{
	_cleanup_free_ bool *is = files_called(d, u, file);
	for (size_t i = 0; is && i < u->lines.n; i++)
		if (line_in(u, &u->lines.row[i], is) == line)
			visit(ctx, u->lines.row[i].addr);
}

void us_dwarf_each_address(struct us_dwarf *d, const char *file, uint32_t line,
			   void (*visit)(void *ctx, uint64_t addr), void *ctx)
{
	for (size_t i = 0; i < d->units.n; i++)
		each_address_of(d, &d->units.v[i], file, line, visit, ctx);
}

/* The lines of one scope's own code, without what is inlined into it. */
struct extent {
	const char *file; /* the set's */
	uint32_t first, last;
	uint64_t addr; /* of first */
};

struct around {
	const char *file;
	uint32_t line;
	struct {
		struct extent *v; /* with the line in them */
		size_t n, cap;
	} found;
	struct us_source_line *near;
};

static void keep_near(struct around *a, const char *file, uint32_t line)
{
	uint32_t far = line > a->line ? line - a->line : a->line - line;
	uint32_t best = a->near->line > a->line ? a->near->line - a->line
						: a->line - a->near->line;
	/* Of two that are as near, what follows a comment is meant. */
	if (!a->near->line || far < best || (far == best && line > a->near->line))
		*a->near = (struct us_source_line){ file, line };
}

/* Only a function with code behind the line can have it in it: most units need no more
 * than their lines. */
static bool may_have(struct around *a, const struct us_dwarf_unit *u, const bool *is)
{
	bool behind = false;
	for (size_t i = 0; i < u->lines.n; i++) {
		const struct us_line_row *r = &u->lines.row[i];
		uint32_t line = line_in(u, r, is);
		if (!line)
			continue;
		keep_near(a, us_line_table_file(&u->lines, r->file), line);
		behind |= line >= a->line;
	}
	return behind;
}

/* A row before the declaration is of a macro or of a member's initial value. */
static void stretch(struct extent *x, const struct us_dwarf_scope *s, const char *file,
		    const struct us_line_row *r)
{
	bool declared = s->decl_file && s->decl_line;
	if (declared && (s->decl_file != file || r->line < s->decl_line))
		return;
	if (!x->file)
		*x = (struct extent){ file, r->line, r->line, r->addr };
	if (x->file != file)
		return;
	if (r->line < x->first) {
		x->first = r->line;
		x->addr = r->addr;
	}
	if (r->line > x->last)
		x->last = r->line;
}

static void keep_extents(struct around *a, const struct us_dwarf_unit *u,
			 struct extent *x)
{
	for (size_t i = 0; i < u->scopes.n; i++) {
		const struct us_dwarf_scope *s = &u->scopes.v[i];
		if (!x[i].file)
			continue;
		if (s->decl_file && s->decl_line)
			x[i].first = s->decl_line;
		if (x[i].first > a->line || x[i].last < a->line)
			continue;
		struct extent *slot = us_vec_push(&a->found);
		if (slot)
			*slot = x[i];
	}
}

static void search_unit(struct around *a, struct us_dwarf *d, struct us_dwarf_unit *u)
{
	_cleanup_free_ bool *is = files_called(d, u, a->file);
	if (!is || !may_have(a, u, is))
		return;
	us_dwarf_need_scopes(d, u);
	_cleanup_free_ struct extent *x = calloc(u->scopes.n + 1, sizeof(*x));
	for (size_t i = 0; x && i < u->lines.n; i++) {
		const struct us_line_row *r = &u->lines.row[i];
		uint32_t k = us_span_map_find(&u->map, r->addr);
		if (k == US_SPAN_NONE || !line_in(u, r, is))
			continue;
		us_dwarf_need_scope(d, u, &u->scopes.v[k]);
		stretch(&x[k], &u->scopes.v[k], us_line_table_file(&u->lines, r->file),
			r);
	}
	if (x)
		keep_extents(a, u, x);
}

static int by_file(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;
	int c = strcmp(x->file, y->file);
	return c ? c : (x->first < y->first) - (x->first > y->first);
}

void us_dwarf_around(struct us_dwarf *d, const char *file, uint32_t line,
		     void (*visit)(void *ctx, uint64_t addr), void *ctx,
		     struct us_source_line *near)
{
	struct around a = { .file = file, .line = line, .near = near };
	for (size_t i = 0; i < d->units.n; i++)
		search_unit(&a, d, &d->units.v[i]);
	if (a.found.n)
		qsort(a.found.v, a.found.n, sizeof(*a.found.v), by_file);
	const struct extent *inner = a.found.v;
	for (size_t i = 0; i < a.found.n; i++) {
		const struct extent *x = &a.found.v[i];
		if (strcmp(x->file, inner->file) != 0)
			inner = x; /* the innermost in another file of this name */
		if (x->first == inner->first)
			visit(ctx, x->addr);
	}
	free(a.found.v);
}
