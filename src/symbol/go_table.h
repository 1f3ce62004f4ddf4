/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_table.h: the functions of a Go program, by the table that its runtime has.
 *
 * Every Go program has it, stripped or not: the runtime prints its own stacks by it
 * (Go: src/runtime/symtab.go, src/debug/gosym/pclntab.go).  Read are its four forms,
 * of Go 1.2, 1.16, 1.18 and 1.20, each up to the next one.  The bytes are hostile:
 * offsets and counts are checked before they are used.  Little-endian only.
 */
#ifndef US_SYMBOL_GO_TABLE_H
#define US_SYMBOL_GO_TABLE_H

#include "symbol/elf_symbols.h"

#define US_GO_ALIGN 32U /* of the table, in a file and in memory */
#define US_GO_HEAD  80U /* bytes of its header, at most */

struct us_go_table {
	const uint8_t *bytes;
	size_t size;
	uint64_t text; /* what starts are counted from; 0: they are addresses, or the
			  loader writes it (has_text) */
	bool has_text;
	bool narrow;		   /* starts and offsets of 4 bytes */
	uint8_t word;		   /* bytes of a pointer */
	uint32_t n;		   /* functions */
	uint64_t functions, names; /* offsets of the tables */
};

/* Is it the head of such a table?  n bytes of it are there, US_GO_HEAD are enough. */
bool us_go_table_is(const uint8_t *head, size_t n);

/* The table that begins at bytes; size: how far what holds it goes.  -ENOENT: it is
 * none, or does not lie in there. */
int us_go_table_open(const uint8_t *bytes, size_t size, struct us_go_table *ret);

struct us_go_function {
	uint64_t start, size; /* by addresses of the file, size never 0 */
	const char *name;     /* in the table; not empty */
};
/* The k-th; false: what the table says of it cannot be. */
bool us_go_table_function(const struct us_go_table *t, uint32_t k,
			  struct us_go_function *ret);

/* The functions of the table of a file, sorted; names are the file's.  0, also if it
 * has none: then *ret is empty.  -ENOMEM. */
US_MUST_CHECK int us_go_symbols_read(const struct us_elf_file *f,
				     struct us_elf_symbols *ret);

#endif
