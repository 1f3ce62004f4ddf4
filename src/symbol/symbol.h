/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol.h: from addresses to names, after the recording.
 *
 * Lookups of names are binary searches in sorted arrays; lines and inlined calls come
 * from DWARF by libdw, only for addresses that are asked for, and are remembered.
 */
#ifndef US_SYMBOL_H
#define US_SYMBOL_H

#include "symbol/elf_image.h"

struct us_frame {
	const char *func;   /* the set's; NULL: unknown */
	const char *file;   /* NULL: unknown */
	const char *module; /* base name of the image; NULL: in none */
	us_gva start;  /* of the function (of the outer one for inlined); 0: unknown */
	uint32_t line; /* 0: unknown; of a caller: the line of its call */
	uint32_t decl_line; /* where the function begins in its file; 0: unknown */
	bool inlined;	    /* into the frame that follows */
};

struct us_symbols;

US_MUST_CHECK int us_symbols_new(struct us_symbols **ret, struct us_err *e);
void us_symbols_free(struct us_symbols *s); /* accepts NULL; closes its images */
/* Takes the image, closes it on failure. What was looked up before is looked up anew,
 * so frames got earlier keep their strings but may not be all. */
US_MUST_CHECK int us_symbols_add(struct us_symbols *s, struct us_elf_image *i,
				 uint64_t bias, struct us_err *e);
/*
 * Frames at pc, innermost first, at most max: inlined ones, then the function itself.
 * is_return: pc is a return address, so the call before it is looked up.
 * 0: pc is in no image.  In an image without a name for it: one frame, func NULL.
 * file: as DWARF records it, relative to the directory it was compiled in if it lies
 * beneath, else absolute.  func of the function itself: from the symbol table, so that
 * clones (".part.0", ".cold") stay apart; of inlined ones: DWARF's, not demangled.
 * Strings live as long as the set.  One thread at a time.
 */
size_t us_symbols_lookup(struct us_symbols *s, us_gva pc, bool is_return,
			 struct us_frame *ret, size_t max);

/* Base name of an image whose DWARF was so large, or so wrong, that some lines were
 * left out; NULL: none so far. For a warning after the look-ups. */
const char *us_symbols_incomplete(const struct us_symbols *s);

/* Starts of all functions of all images, biased, sorted: for us_unwinder_new().
 * *ret is the caller's to free. 0 or -ENOMEM. */
US_MUST_CHECK int us_symbols_function_starts(const struct us_symbols *s, us_gva **ret,
					     size_t *ret_n);

#endif
