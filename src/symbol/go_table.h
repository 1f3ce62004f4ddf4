/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_table.h: the functions of a Go program, from its runtime's table (pclntab).
 *
 * Every Go program has it, stripped or not, because the runtime uses it to print stacks
 * (Go: src/runtime/symtab.go, src/debug/gosym/pclntab.go).  Its four forms, introduced
 * in Go 1.2, 1.16, 1.18 and 1.20, are supported.  The bytes are hostile: offsets and
 * counts are checked before use.  Little-endian only.
 */
#ifndef US_SYMBOL_GO_TABLE_H
#define US_SYMBOL_GO_TABLE_H

#include "symbol/elf_symbols.h"

#define US_GO_ALIGN 32U /* of the table, in a file and in memory */
#define US_GO_HEAD  80U /* maximal size of its header, bytes */

struct us_go_table {
	const uint8_t *bytes;
	size_t size;
	uint64_t text; /* base of the starts; 0: they are addresses, or the base is
			  not in the table (has_text): the loader writes it, or, since
			  Go 1.26, the runtime's description of the program has it */
	bool has_text;
	bool narrow;		   /* starts and offsets have 4 bytes */
	uint8_t word;		   /* size of a pointer, bytes */
	uint32_t n;		   /* functions */
	uint64_t functions, names; /* offsets of the tables */
};

/* Is this the header of such a table?  n bytes are available; US_GO_HEAD are enough. */
bool us_go_table_is(const uint8_t *head, size_t n);

/* Open the table that begins at bytes.  size: of what contains it, from there on.
 * -ENOENT: not a table, or it does not fit. */
int us_go_table_open(const uint8_t *bytes, size_t size, struct us_go_table *ret);

/* Words of the runtime's description of the program that are needed. */
#define US_GO_MODULE_WORDS 24U

/* Where the code begins, by those words, if they fit the table: sets text and has_text.
 * For tables that do not say it themselves. */
bool us_go_table_take_module(struct us_go_table *t,
			     const uint64_t word[US_GO_MODULE_WORDS]);
/* The same with the description in the file.  table: the table's address. */
bool us_go_table_find_module(const struct us_elf_file *f, uint64_t table,
			     struct us_go_table *t);
/* What the loader writes to that address, relocated; 0: nothing. */
uint64_t us_go_relocated(const struct us_elf_file *f, uint64_t address);

struct us_go_function {
	uint64_t start, size; /* addresses of the file, size never 0 */
	const char *name;     /* in the table; not empty */
};
/* The k-th function; false: its entry is invalid. */
bool us_go_table_function(const struct us_go_table *t, uint32_t k,
			  struct us_go_function *ret);

/* The functions in a file's table, sorted; the names are the file's.  0, even without a
 * table: then *ret is empty.  -ENOMEM. */
US_MUST_CHECK int us_go_symbols_read(const struct us_elf_file *f,
				     struct us_elf_symbols *ret);

#endif
