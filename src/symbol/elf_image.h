/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_image.h: an ELF file as an image in a guest.
 *
 * The file is hostile: sizes and offsets are checked against it before use, counts
 * are bounded.  Addresses are the file's own until a bias is added.
 */
#ifndef US_SYMBOL_ELF_IMAGE_H
#define US_SYMBOL_ELF_IMAGE_H

#include "base/err.h"
#include "guest/paging.h"

struct us_elf_file;
struct us_elf_image;

struct us_elf_symbol {
	uint64_t addr,
		size;	  /* size never 0: filled up to the next one or section end */
	const char *name; /* the image's */
};

/* -ENOEXEC: no ELF; -EBADMSG: an ELF that lies about itself. A file without symbols
 * is no error. */
US_MUST_CHECK int us_elf_image_open(const char *path, struct us_elf_image **ret,
				    struct us_err *e);
void us_elf_image_close(struct us_elf_image *i); /* accepts NULL */

const char *us_elf_image_path(const struct us_elf_image *i);
/* The checked headers and bytes behind it; the image's. */
const struct us_elf_file *us_elf_image_file(const struct us_elf_image *i);
/* Bytes of the build-id, *ret_len 0 if it has none. */
const uint8_t *us_elf_image_build_id(const struct us_elf_image *i, size_t *ret_len);
/* Span of the code, from the first to the last executable section (segment, if it has
 * no such section); what lies between need not be code. false: none. */
bool us_elf_image_text(const struct us_elf_image *i, uint64_t *ret_start,
		       uint64_t *ret_end);
/* Function symbols, sorted by address, one an address: elf_symbols.h says which. */
const struct us_elf_symbol *us_elf_image_symbols(const struct us_elf_image *i,
						 size_t *ret_n);
/* The symbol that covers addr, the innermost of nested ones, or NULL. Binary search. */
const struct us_elf_symbol *us_elf_image_find(const struct us_elf_image *i,
					      uint64_t addr);

struct us_image_match {
	unsigned compared, equal; /* pieces of text */
	unsigned unmapped;	  /* pieces that the guest does not map */
};

/*
 * Compare pieces of the text, spread over it and at `at` (a gva in it, or 0), with the
 * guest's memory.  true: enough could be read to judge (8 pieces, or all there are;
 * to say no, also half of them), then *ret_same is the verdict.  Kernels patch their
 * own text: three quarters of the bytes of a piece must be equal, and three quarters
 * of the pieces.  Pieces of one repeated byte tell nothing and are not looked at.
 */
bool us_elf_image_compare(const struct us_elf_image *i, uint64_t bias, us_gva at,
			  struct us_paging *p, const struct us_space *s,
			  struct us_image_match *ret, bool *ret_same);

#endif
