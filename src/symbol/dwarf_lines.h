/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_lines.h: source lines and inlined calls from DWARF 2 to 5.
 *
 * Beside dwarf_types.h the only user of libdw, which never sees the file's own headers,
 * but a header of ours that names the checked .debug_* sections and nothing else, so
 * that it neither trusts the file's tables nor follows links to other files.  Units are
 * indexed when an address in them is asked for.  What is not believable is left out:
 * more spans of code than bytes to state them in, a line program of more than 16 MiB,
 * and all that would take longer than US_DWARF_BUDGET.  us_dwarf_exhausted() tells.
 */
#ifndef US_SYMBOL_DWARF_LINES_H
#define US_SYMBOL_DWARF_LINES_H

#include "symbol/elf_file.h"
#include "symbol/symbol.h"

#define US_DWARF_BUDGET (20 * 1000000000ULL) /* ns of CPU time for one image */

struct us_dwarf;

/* NULL if there is no usable DWARF (or no memory).  alt: a file that f's DWARF refers
 * to (dwz), or NULL.  Both must outlive it. */
struct us_dwarf *us_dwarf_open(const struct us_elf_file *f,
			       const struct us_elf_file *alt);
void us_dwarf_close(struct us_dwarf *d); /* accepts NULL */

/*
 * Frames at addr, innermost first, at most max; 0: DWARF knows nothing of it.  Of
 * struct us_frame, module is not set and start is an address of the file.  The last
 * one is the function itself (inlined false) unless DWARF has only the line
 * (assembly): then func is NULL.  Strings live until the close.
 */
size_t us_dwarf_lookup(struct us_dwarf *d, uint64_t addr, struct us_frame *ret,
		       size_t max);

/* Line and file of addr alone; false: unknown. */
bool us_dwarf_line(struct us_dwarf *d, uint64_t addr, const char **ret_file,
		   uint32_t *ret_line);

/* Addresses at which code of a line begins, in no order.  file: as
 * us_symbols_each_address() takes it. */
void us_dwarf_each_address(struct us_dwarf *d, const char *file, uint32_t line,
			   void (*visit)(void *ctx, uint64_t addr), void *ctx);

/* Something was left out: some addresses have no lines. */
bool us_dwarf_exhausted(const struct us_dwarf *d);

/* Was it compiled with -gsplit-dwarf?  Then it has lines, but no inlined calls: those
 * are in files (.dwo, .dwp) that are not read. */
bool us_dwarf_is_split(const struct us_dwarf *d);

#endif
