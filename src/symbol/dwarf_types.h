/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_types.h: converts structs of a C program from DWARF to BTF, the format of
 * Linux's own types (Documentation/bpf/btf.rst).
 *
 * The same reader then serves both.  The result has each requested struct with its
 * members and their types, at all levels of nesting.  It has no bit fields and no types
 * that only pointers lead to; pointers point to nothing.  libdw sees the file as in
 * dwarf_lines.h: all of it is hostile, and what would take longer than
 * US_DWARF_TYPES_BUDGET is left out.
 */
#ifndef US_SYMBOL_DWARF_TYPES_H
#define US_SYMBOL_DWARF_TYPES_H

#include "symbol/elf_file.h"

#define US_DWARF_TYPES_BUDGET (4 * 1000000000ULL) /* ns of CPU time for one file */

struct us_dwarf_types {
	uint8_t *bytes; /* the caller's to free */
	size_t size;
	size_t n_found; /* how many of the names were found */
	bool cut;	/* the budget ran out before all were found */
};

/*
 * The structs (or unions) of these names, the first definition of each.  Units in
 * languages other than C are skipped.  -ENOENT: no DWARF, or it has none of them;
 * -ENOMEM.  No other thread may use the file's spare page meanwhile (us_dwarf_elf()).
 */
US_MUST_CHECK int us_dwarf_types_read(const struct us_elf_file *f,
				      const char *const *names, size_t n,
				      struct us_dwarf_types *ret);

#endif
