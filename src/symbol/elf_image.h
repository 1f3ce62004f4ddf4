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
#include "symbol/debug_file.h"

struct us_elf_image;

struct us_elf_symbol {
	uint64_t addr, size; /* size never 0: filled up to the next one or section end;
				1 if all but the dynamic ones were stripped */
	const char *name;    /* the image's */
	const char *file;    /* of a local one: its source's name; NULL: unknown */
};

/* What nm prints is taken, too, as an image whose code is not known (symbol_list.h).
 * -ENOEXEC: no ELF; -EBADMSG: an ELF that lies about itself. A file without symbols
 * is no error. */
US_MUST_CHECK int us_elf_image_open(const char *path, struct us_elf_image **ret,
				    struct us_err *e);
void us_elf_image_close(struct us_elf_image *i); /* accepts NULL */

/*
 * Symbols and DWARF of a stripped image, from a file that is kept apart (debug_file.h).
 * Nothing is done for an image that has both.  0; -ENOENT: there is none; others: what
 * there is could not be used, *e says why.  The image is good in each case.
 */
US_MUST_CHECK int us_elf_image_find_debug(struct us_elf_image *i,
					  const struct us_debug_dirs *dirs,
					  struct us_err *e);
const char *us_elf_image_debug_path(const struct us_elf_image *i); /* NULL: none */
/* "the same code": how a file that nothing named was shown to be right; NULL: it was
 * named, or there is none. */
const char *us_elf_image_debug_beside(const struct us_elf_image *i);
/* The file that has the DWARF: the separate one, or the image's own. */
const struct us_elf_file *us_elf_image_dwarf(const struct us_elf_image *i);
/* The file that has what the DWARF shares with others (dwz); NULL: none. */
const struct us_elf_file *us_elf_image_dwarf_alt(const struct us_elf_image *i);

const char *us_elf_image_path(const struct us_elf_image *i);
/* From now on this is its path: it was opened at another.  0 or -ENOMEM. */
US_MUST_CHECK int us_elf_image_call(struct us_elf_image *i, const char *path);
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
/* Has it, or the file kept apart of it, all symbols, not the dynamic ones alone? */
bool us_elf_image_has_all(const struct us_elf_image *i);
/* The symbol that covers addr, the innermost of nested ones, or NULL. Binary search. */
const struct us_elf_symbol *us_elf_image_find(const struct us_elf_image *i,
					      uint64_t addr);

struct us_image_match {
	unsigned compared, equal; /* pieces of text */
	unsigned unmapped;	  /* pieces that the guest does not map */
	bool other_build;	  /* the guest has another build-id in its place */
};

/*
 * Compare pieces of the text, spread over it and at `at` (a gva in it, or 0), with the
 * guest's memory.  true: enough could be read to judge (8 pieces, or all there are;
 * to say no, also half of them), then *ret_same is the verdict.  Kernels patch their
 * own text: three quarters of the bytes of a piece must be equal, and three quarters
 * of the pieces.  Pieces of one repeated byte tell nothing and are not looked at.  A
 * build-id that is loaded with the image and differs in the guest settles it: no.
 * Of an image that has names alone, pieces of the guest's code in its place are looked
 * at: what they call must be functions of the image, half of it in each of them.
 */
bool us_elf_image_compare(const struct us_elf_image *i, uint64_t bias, us_gva at,
			  struct us_paging *p, const struct us_space *s,
			  struct us_image_match *ret, bool *ret_same);

enum us_image_check {
	US_CHECK_UNKNOWN, /* nothing could be read */
	US_CHECK_SAME,
	US_CHECK_DIFFERS, /* a piece does: compare the whole */
};

/* Of the piece at `at`, a gva in the text, alone. */
enum us_image_check us_elf_image_check_at(const struct us_elf_image *i, uint64_t bias,
					  us_gva at, struct us_paging *p,
					  const struct us_space *s);

/* The same of four pieces: that at `at` and three others, another three for each turn:
 * to be made again and again, while the guest runs. */
enum us_image_check us_elf_image_check(const struct us_elf_image *i, uint64_t bias,
				       us_gva at, unsigned turn, struct us_paging *p,
				       const struct us_space *s);

/* Does the guest have the image's own build-id where it would be loaded at this bias?
 * Then it is this build, whatever of its text was patched. */
bool us_elf_image_is_build(const struct us_elf_image *i, uint64_t bias,
			   struct us_paging *p, const struct us_space *s);

/* Where the build-id lies once loaded, an address of the file; 0: not loaded. */
uint64_t us_elf_image_build_id_at(const struct us_elf_image *i);

#endif
