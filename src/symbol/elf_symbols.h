/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_symbols.h: the function symbols of an ELF file, sorted, with a search.
 *
 * Kept: functions, and labels without a type in executable sections (assembly).
 * Dropped: what is not in executable code, ARM and RISC-V mapping symbols, ".L" labels,
 * and local labels without a size inside a function that has one.  Of several at one
 * address the best is kept: a function before a label, with a size before without,
 * global before local before weak, fewer leading underscores, the one whose name comes
 * first in the file; the others are kept as its other names.  Block sections are joined
 * to their function where they follow it (function_part.h).
 */
#ifndef US_SYMBOL_ELF_SYMBOLS_H
#define US_SYMBOL_ELF_SYMBOLS_H

#include "symbol/elf_file.h"
#include "symbol/elf_image.h"
#include "symbol/span_map.h"

#define US_MAX_SYMBOLS	   (16U << 20)
#define US_MAX_SYMBOL_NAME 16384 /* bytes; a symbol with a longer name is dropped */

/* A name of a kept symbol that was not chosen. */
struct us_elf_other_name {
	uint64_t addr;
	const char *name;
};

struct us_elf_symbols {
	struct us_elf_symbol *v; /* sorted by addr, one for each address */
	size_t n;
	struct us_elf_other_name *other; /* sorted by addr */
	size_t n_other;
	struct us_span_map cover; /* address -> index into v */
	bool go;		  /* it has all Go functions, from Go's own table */
};

/* Read .symtab, or, if that gives none, .dynsym and Go's table (go_table.h).  -EBADMSG:
 * the symbol table is malformed. */
US_MUST_CHECK int us_elf_symbols_read(const struct us_elf_file *f,
				      struct us_elf_symbols *ret, struct us_err *e);
/* Add the symbols of another file at addresses where *s has none; empties *more.  0, or
 * -ENOMEM: *s is unchanged. */
US_MUST_CHECK int us_elf_symbols_join(struct us_elf_symbols *s,
				      struct us_elf_symbols *more);
/* Build s->cover from s->v.  0 or -ENOMEM. */
US_MUST_CHECK int us_elf_symbols_cover(struct us_elf_symbols *s);
/* The other name k of the symbol at addr; NULL: it has no more. */
const char *us_elf_symbols_other(const struct us_elf_symbols *s, uint64_t addr,
				 size_t k);
void us_elf_symbols_fini(struct us_elf_symbols *s); /* accepts a zeroed one */

#endif
