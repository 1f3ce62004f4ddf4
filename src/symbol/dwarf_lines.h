/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_lines.h: source lines and inlined calls from DWARF 2 to 5.
 *
 * This and dwarf_types.h are the only users of libdw.  libdw never sees the file's own
 * headers, only a generated header that names the checked .debug_* sections.  It
 * therefore neither trusts the file's tables nor follows links to other files.
 *
 * Units are indexed when an address in them is looked up.  Implausible data is left
 * out: more spans of code than bytes to state them in, a line program of more than 16
 * MiB, and all that would take longer than US_DWARF_BUDGET.  us_dwarf_exhausted()
 * reports that.
 */
#ifndef US_SYMBOL_DWARF_LINES_H
#define US_SYMBOL_DWARF_LINES_H

#include "symbol/elf_file.h"
#include "symbol/symbol.h"

#define US_DWARF_BUDGET (20 * 1000000000ULL) /* ns of CPU time for one image */

struct us_dwarf;

/* NULL: no usable DWARF, or no memory.  alt: a file that f's DWARF refers to (dwz), or
 * NULL.  Both files must outlive the result. */
struct us_dwarf *us_dwarf_open(const struct us_elf_file *f,
			       const struct us_elf_file *alt);
void us_dwarf_close(struct us_dwarf *d); /* accepts NULL */

/*
 * Frames at addr, innermost first, at most max; 0: DWARF knows nothing of it.  module
 * is not set, and start is an address of the file.  The last frame is the function
 * itself (inlined false); if DWARF has only the line (assembly), its func is NULL.
 * Strings live until us_dwarf_close().
 */
size_t us_dwarf_lookup(struct us_dwarf *d, uint64_t addr, struct us_frame *ret,
		       size_t max);

/* Line and file of addr alone; false: unknown. */
bool us_dwarf_line(struct us_dwarf *d, uint64_t addr, const char **ret_file,
		   uint32_t *ret_line);

/* Bytes of an address in the unit that has the code at addr; 0: none has it. */
unsigned us_dwarf_address_size(struct us_dwarf *d, uint64_t addr);

/* Addresses at which code of a line begins, in no order.  file: as
 * us_symbols_each_address() takes it. */
void us_dwarf_each_address(struct us_dwarf *d, const char *file, uint32_t line,
			   void (*visit)(void *ctx, uint64_t addr), void *ctx);

/* As us_symbols_around(), for one image; each innermost function is visited at its
 * first line. */
void us_dwarf_around(struct us_dwarf *d, const char *file, uint32_t line,
		     void (*visit)(void *ctx, uint64_t addr), void *ctx,
		     struct us_source_line *near);

/* Was something left out, so that some addresses have no lines? */
bool us_dwarf_exhausted(const struct us_dwarf *d);

/* Was it compiled with -gsplit-dwarf?  Then there are lines, but no inlined calls:
 * those are in files (.dwo, .dwp) that are not read. */
bool us_dwarf_is_split(const struct us_dwarf *d);

#endif
