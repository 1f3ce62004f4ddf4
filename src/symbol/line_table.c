/* SPDX-License-Identifier: GPL-2.0-or-later */
/* line_table.c: see line_table.h. */
#include "symbol/line_table.h"

#include "base/cleanup.h"
#include "base/search.h"

#include <errno.h>
#include <string.h>

static uint64_t hash_of(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */
	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3ULL;
	return h ^ h >> 32;
}

static char **slot_of(char **slot, size_t n_slot, const char *text)
{
	size_t i = hash_of(text) & (n_slot - 1);
	while (slot[i] && strcmp(slot[i], text) != 0)
		i = (i + 1) & (n_slot - 1);
	return &slot[i];
}

static bool grow(struct us_string_set *s)
{
	size_t n = s->n_slot ? 2 * s->n_slot : 256;
	char **slot = calloc(n, sizeof(*slot));
	if (!slot)
		return false;
	for (size_t i = 0; i < s->n_slot; i++)
		if (s->slot[i])
			*slot_of(slot, n, s->slot[i]) = s->slot[i];
	free(s->slot);
	s->slot = slot;
	s->n_slot = n;
	return true;
}

const char *us_string_set_add(struct us_string_set *s, const char *text)
{
	if (2 * s->n >= s->n_slot && !grow(s))
		return NULL;
	char **slot = slot_of(s->slot, s->n_slot, text);
	if (*slot)
		return *slot;
	*slot = strdup(text);
	s->n += *slot != NULL;
	return *slot;
}

void us_string_set_fini(struct us_string_set *s)
{
	for (size_t i = 0; i < s->n_slot; i++)
		free(s->slot[i]);
	free(s->slot);
	memset(s, 0, sizeof(*s));
}

/* libdw puts the directories before a file's name; the build's working directory is of
 * no use. */
static const char *shorten(const char *comp_dir, const char *path)
{
	size_t n = comp_dir ? strlen(comp_dir) : 0;
	if (!n || strncmp(path, comp_dir, n) != 0 || path[n] != '/')
		return path;
	path += n;
	while (path[0] == '/' || (path[0] == '.' && path[1] == '/'))
		path++;
	return path;
}

static int take_files(struct us_line_table *t, Dwarf_Files *files, size_t n,
		      const char *comp_dir, struct us_string_set *set)
{
	t->file = calloc(n + 1, sizeof(*t->file));
	if (!t->file)
		return -ENOMEM;
	for (; t->n_file < n; t->n_file++) {
		const char *path = dwarf_filesrc(files, t->n_file, NULL, NULL);
		if (!path)
			continue;
		t->file[t->n_file] = us_string_set_add(set, shorten(comp_dir, path));
		if (!t->file[t->n_file])
			return -ENOMEM;
	}
	return 0;
}

static struct us_line_row row_of(Dwarf_Line *l)
{
	struct us_line_row r = { .file = US_LINE_NO_FILE };
	Dwarf_Addr addr = 0;
	Dwarf_Files *files;
	size_t file;
	int line = 0;
	dwarf_lineaddr(l, &addr);
	r.addr = addr;
	if (dwarf_lineendsequence(l, &r.end) != 0)
		r.end = true;
	if (!r.end && dwarf_lineno(l, &line) == 0)
		r.line = (uint32_t)line;
	if (!r.end && dwarf_line_file(l, &files, &file) == 0 && file < US_LINE_NO_FILE)
		r.file = (uint16_t)file;
	return r;
}

/* Only the last of several rows at one address covers code; a row that repeats a line
 * adds nothing. */
static void add_row(struct us_line_table *t, const struct us_line_row *r)
{
	if (t->n && t->row[t->n - 1].addr == r->addr)
		t->n--;
	const struct us_line_row *last = t->n ? &t->row[t->n - 1] : NULL;
	if (last && last->end == r->end && last->line == r->line &&
	    last->file == r->file)
		return;
	t->row[t->n++] = *r;
}

static int take_rows(struct us_line_table *t, Dwarf_Lines *lines, size_t n)
{
	t->row = calloc(n + 1, sizeof(*t->row));
	if (!t->row)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *l = dwarf_onesrcline(lines, i);
		struct us_line_row r = { 0 };
		if (l)
			r = row_of(l);
		if (l)
			add_row(t, &r);
	}
	void *p = realloc(t->row, (t->n + 1) * sizeof(*t->row));
	if (p)
		t->row = p;
	return 0;
}

int us_line_table_build(struct us_line_table *t, Dwarf_Lines *lines, size_t n,
			Dwarf_Files *files, size_t n_file, const char *comp_dir,
			struct us_string_set *set)
{
	memset(t, 0, sizeof(*t));
	int rc = files ? take_files(t, files, n_file, comp_dir, set) : 0;
	if (rc == 0 && lines)
		rc = take_rows(t, lines, n);
	if (rc == -ENOMEM)
		us_line_table_fini(t);
	return rc;
}

/* As libdw sorts them: an end comes before what begins there. */
static bool is_before(const struct us_line_row *a, const struct us_line_row *b)
{
	return a->addr != b->addr ? a->addr < b->addr : a->end && !b->end;
}

/* Stable: rows at one address keep the program's order.  Most are sorted already, so
 * whole runs are merged. */
static void sort_rows(struct us_line_row *v, struct us_line_row *spare, size_t n)
{
	size_t half = n / 2, i = 0, k = half, to = 0;
	if (n < 2)
		return;
	sort_rows(v, spare, half);
	sort_rows(v + half, spare, n - half);
	if (!is_before(&v[half], &v[half - 1]))
		return;
	while (i < half || k < n)
		spare[to++] = k == n || (i < half && !is_before(&v[k], &v[i])) ? v[i++]
									       : v[k++];
	memcpy(v, spare, n * sizeof(*v));
}

int us_line_table_add_rows(struct us_line_table *t, struct us_line_row *rows, size_t n)
{
	if (!n)
		return 0;
	_cleanup_free_ struct us_line_row *spare = calloc(n, sizeof(*spare));
	struct us_line_row *v = realloc(t->row, n * sizeof(*v));
	if (v)
		t->row = v;
	if (!v || !spare)
		return -ENOMEM;
	sort_rows(rows, spare, n);
	for (size_t i = 0; i < n; i++)
		add_row(t, &rows[i]);
	return 0;
}

void us_line_table_fini(struct us_line_table *t)
{
	free(t->row);
	free(t->file);
	memset(t, 0, sizeof(*t));
}

const struct us_line_row *us_line_table_find(const struct us_line_table *t,
					     uint64_t addr)
{
	size_t next = us_first_not(t->n, mid, t->row[mid].addr <= addr);
	return next && !t->row[next - 1].end ? &t->row[next - 1] : NULL;
}

const char *us_line_table_file(const struct us_line_table *t, size_t number)
{
	return number < t->n_file ? t->file[number] : NULL;
}
