/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program_go.h: the functions of a Go program, stripped or not, from the table that its
 * runtime keeps in memory (symbol/go_table.h).
 *
 * Most of the table is usually not mapped; uniscope then reads it from the page cache.
 * Only files with a Go note are searched, and at most 16 MiB of a table are read.
 */
#ifndef US_LINUX_PROGRAM_GO_H
#define US_LINUX_PROGRAM_GO_H

#include "linux/program_pages.h"

#define US_PROGRAM_MOST_GO (16U << 20) /* bytes of a table that are read */

/* As us_program_elf_symbols(). */
US_MUST_CHECK int
us_program_go_symbols(const struct us_program_pages *r,
		      int (*visit)(void *ctx, const struct us_program_symbol *sym),
		      void *ctx, size_t *ret_missing);

#endif
