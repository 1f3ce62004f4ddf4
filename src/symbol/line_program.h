/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * line_program.h: the rows of a line program, sequence by sequence (DWARF 2 to 5,
 * "Line Number Information").
 *
 * libdw sorts the rows of all sequences into one table, so those of a sequence that
 * lies over another cannot be told apart any more.  This reads them where that matters.
 */
#ifndef US_SYMBOL_LINE_PROGRAM_H
#define US_SYMBOL_LINE_PROGRAM_H

#include "symbol/line_table.h"

struct us_line_rows {
	struct us_line_row *v; /* in the order of us_line_table_add_rows() */
	size_t n, cap;
	size_t n_left_out; /* sequences that were refused */
};

/* Is code from start to end that of a sequence to take? */
typedef bool us_line_take(void *ctx, uint64_t start, uint64_t end);

/*
 * Run the program that begins at bytes, of at most size bytes, and take the rows of the
 * sequences that `take` takes.  word: bytes of an address.  0; -EBADMSG: malformed;
 * -ENOTSUP: of another version, or for a VLIW machine; -ENOMEM.  On failure *ret is
 * empty.
 */
int us_line_program_read(const uint8_t *bytes, size_t size, unsigned word,
			 us_line_take *take, void *ctx, struct us_line_rows *ret);

#endif
