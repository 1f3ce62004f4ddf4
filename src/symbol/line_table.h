/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * line_table.h: the source lines of one unit, 16 bytes a row.
 *
 * libdw keeps 56 bytes for each row of a line program: three times the size of the
 * tables in the file.  Here a row marks where another line begins, redundant rows are
 * left out, and all units share the file names.
 */
#ifndef US_SYMBOL_LINE_TABLE_H
#define US_SYMBOL_LINE_TABLE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A set of strings. */
struct us_string_set {
	char **slot; /* open addressing; NULL: free */
	size_t n, n_slot;
};

/* The set's copy of text; NULL: out of memory. */
const char *us_string_set_add(struct us_string_set *s, const char *text);
void us_string_set_fini(struct us_string_set *s); /* accepts a zeroed one */

#define US_LINE_NO_FILE UINT16_MAX

struct us_line_row {
	uint64_t addr;
	uint32_t line;
	uint16_t file; /* index */
	bool end;      /* no code from here on */
};

struct us_line_table {
	struct us_line_row *row; /* sorted by address, one for each */
	size_t n;
	const char **file; /* the set's; NULL: unknown */
	size_t n_file;
};

/*
 * Build the table from what libdw has read.  comp_dir is removed from names of files in
 * it (NULL: not known).  0 or -ENOMEM.
 */
int us_line_table_build(struct us_line_table *t, Dwarf_Lines *lines, size_t n,
			Dwarf_Files *files, size_t n_file, const char *comp_dir,
			struct us_string_set *set);
/* Add rows to a table that has none; sorts them.  0 or -ENOMEM. */
int us_line_table_add_rows(struct us_line_table *t, struct us_line_row *rows, size_t n);
void us_line_table_fini(struct us_line_table *t); /* accepts a zeroed one */

/* The row that covers addr, or NULL. */
const struct us_line_row *us_line_table_find(const struct us_line_table *t,
					     uint64_t addr);
/* Name of a file by its number in the unit, or NULL. */
const char *us_line_table_file(const struct us_line_table *t, size_t number);

#endif
