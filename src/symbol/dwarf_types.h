/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_types.h: structs of a C program, by its DWARF, in the form in which Linux keeps
 * types of its own (BTF; Documentation/bpf/btf.rst).
 *
 * So what reads one reads the other.  Of each struct that is asked for, its members and
 * the types of these are there, as deep as they lie in it; what only pointers lead to
 * is not, nor are bit fields.  Pointers are pointers to nothing.  libdw sees the file
 * as in dwarf_lines.h: all of it is hostile, and what would take longer than
 * US_DWARF_TYPES_BUDGET is left out.
 */
#ifndef US_SYMBOL_DWARF_TYPES_H
#define US_SYMBOL_DWARF_TYPES_H

#include "symbol/elf_file.h"

#define US_DWARF_TYPES_BUDGET (4 * 1000000000ULL) /* ns of CPU time for one file */

struct us_dwarf_types {
	uint8_t *bytes; /* the caller's to free */
	size_t size;
	size_t n_found; /* of the names */
	bool cut;	/* the time was up before all were found */
};

/*
 * The structs (or unions) of these names, the first definition of each.  Units of other
 * languages than C are passed over.  -ENOENT: no DWARF, or it has none of them;
 * -ENOMEM. No other thread uses the file's spare page meanwhile (us_dwarf_elf()).
 */
US_MUST_CHECK int us_dwarf_types_read(const struct us_elf_file *f,
				      const char *const *names, size_t n,
				      struct us_dwarf_types *ret);

#endif
