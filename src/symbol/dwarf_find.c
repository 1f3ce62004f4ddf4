/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dwarf_find.c: from source lines to addresses. */
#include "symbol/dwarf_priv.h"

#include <string.h>

static bool ends_with_path(const char *path, const char *end)
{
	size_t n = path ? strlen(path) : 0, len = strlen(end);
	return n >= len && !strcmp(path + n - len, end) &&
	       (n == len || path[n - len - 1] == '/');
}

static void each_address_of(struct us_dwarf *d, struct us_dwarf_unit *u,
			    const char *file, uint32_t line,
			    void (*visit)(void *ctx, uint64_t addr), void *ctx)
{
	us_dwarf_need_lines(d, u);
	for (size_t i = 0; i < u->lines.n; i++) {
		const struct us_line_row *row = &u->lines.row[i];
		if (!row->end && row->line == line &&
		    ends_with_path(us_line_table_file(&u->lines, row->file), file))
			visit(ctx, row->addr);
	}
}

void us_dwarf_each_address(struct us_dwarf *d, const char *file, uint32_t line,
			   void (*visit)(void *ctx, uint64_t addr), void *ctx)
{
	for (size_t i = 0; i < d->units.n; i++)
		each_address_of(d, &d->units.v[i], file, line, visit, ctx);
}
