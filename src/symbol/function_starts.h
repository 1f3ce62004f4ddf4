/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * function_starts.h: where the functions of an image begin, for the analysis of code.
 *
 * Stripped images often keep the symbols of a few functions: those that are exported,
 * or that a linker script or `strip -K` keeps.  Between them is code without a symbol,
 * and it does not belong to the function before it.
 */
#ifndef US_SYMBOL_FUNCTION_STARTS_H
#define US_SYMBOL_FUNCTION_STARTS_H

#include "symbol/elf_image.h"

/* Addresses are the image's own.  The caller frees both arrays. */
struct us_function_starts {
	us_gva *start; /* sorted */
	size_t n;
	/* Those of start that end the function before them, but where none is known to
	 * begin: a split-off part (function_part.h), or code without a symbol. */
	us_gva *part;
	size_t n_part;
};

/* sym: sorted, with their sizes.  text_end: where the image's code ends; 0: not known.
 * 0 or -ENOMEM. */
US_MUST_CHECK int us_function_starts_take(struct us_function_starts *s,
					  const struct us_elf_symbol *sym, size_t n,
					  uint64_t text_end);

#endif
