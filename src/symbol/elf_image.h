/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_image.h: an ELF file as an image in a guest.
 *
 * The file is hostile: sizes and offsets are checked against it before use, and counts
 * are bounded.  Addresses are the file's own until a bias is added.
 */
#ifndef US_SYMBOL_ELF_IMAGE_H
#define US_SYMBOL_ELF_IMAGE_H

#include "base/err.h"
#include "guest/paging.h"
#include "symbol/debug_file.h"

struct us_elf_image;

struct us_elf_symbol {
	uint64_t addr, size; /* size never 0: a missing one reaches to the next symbol
				or section end; 1 if all but the dynamic ones were
				stripped */
	const char *name;    /* the image's */
	const char *file;    /* of a local symbol: its source file; NULL: unknown */
};

/* Accepts PE/COFF files with symbols as well (pe_file.h), and the output of nm, as an
 * image whose code is not known (symbol_list.h).  -ENOEXEC: none of these; -EBADMSG:
 * malformed.  An ELF file without symbols is no error. */
US_MUST_CHECK int us_elf_image_open(const char *path, struct us_elf_image **ret,
				    struct us_err *e);
void us_elf_image_close(struct us_elf_image *i); /* accepts NULL */

/*
 * Get symbols and DWARF of a stripped image from a separate file (debug_file.h).  Does
 * nothing for an image that has both.  0; -ENOENT: there is none; others: the file
 * could not be used, *e says why.  The image is usable in each case.
 */
US_MUST_CHECK int us_elf_image_find_debug(struct us_elf_image *i,
					  const struct us_debug_dirs *dirs,
					  struct us_err *e);
const char *us_elf_image_debug_path(const struct us_elf_image *i); /* NULL: none */
/* "the same code": how a file that was not named was shown to be the right one; NULL:
 * it was named, or there is none. */
const char *us_elf_image_debug_beside(const struct us_elf_image *i);
/* The file that has the DWARF: the separate one, or the image's own. */
const struct us_elf_file *us_elf_image_dwarf(const struct us_elf_image *i);
/* The file that has what the DWARF shares with others (dwz); NULL: none. */
const struct us_elf_file *us_elf_image_dwarf_alt(const struct us_elf_image *i);

const char *us_elf_image_path(const struct us_elf_image *i);
/* Replace its path; for an image that was opened under another one.  0 or -ENOMEM. */
US_MUST_CHECK int us_elf_image_call(struct us_elf_image *i, const char *path);
/* What of the image, or else of its separate file, was left out as damaged, for a
 * message: "PATH: section 9 .symtab claims ..."; false: nothing. */
bool us_elf_image_damage(const struct us_elf_image *i, char *ret, size_t size);
/* Its checked headers and bytes; owned by the image. */
const struct us_elf_file *us_elf_image_file(const struct us_elf_image *i);
/* Bytes of the build-id, *ret_len 0 if it has none. */
const uint8_t *us_elf_image_build_id(const struct us_elf_image *i, size_t *ret_len);
/* Tells builds apart that have no build-id: a hash of the code and where it is.  0: the
 * file holds none. */
uint64_t us_elf_image_code_hash(const struct us_elf_image *i);
/* Span of the code, from the first to the last executable section (without any:
 * segment); not all of it need be code.  false: none. */
bool us_elf_image_text(const struct us_elf_image *i, uint64_t *ret_start,
		       uint64_t *ret_end);
/* Function symbols, sorted by address, one for each address: elf_symbols.h says
 * which. */
const struct us_elf_symbol *us_elf_image_symbols(const struct us_elf_image *i,
						 size_t *ret_n);
/* The other name k (from 0) that the symbol at addr has; NULL: it has no more. */
const char *us_elf_image_other_name(const struct us_elf_image *i, uint64_t addr,
				    size_t k);
/* Does it, or its separate file, have all symbols, not only the dynamic ones? */
bool us_elf_image_has_all(const struct us_elf_image *i);
/* The symbol that covers addr, the innermost of nested ones, or NULL. Binary search. */
const struct us_elf_symbol *us_elf_image_find(const struct us_elf_image *i,
					      uint64_t addr);

struct us_image_match {
	unsigned compared, equal; /* pieces of the text */
	unsigned unmapped;	  /* pieces that the guest does not map */
	bool other_build;	  /* the guest has another build-id */
	bool patched;		  /* bytes differ in some piece */
};

/*
 * Compare pieces of the text, spread over it and at `at` (a gva in it, or 0), with the
 * guest's memory.  true: enough pieces could be read for a verdict, which is *ret_same.
 * That takes 8 pieces, or all there are; a negative verdict also takes half of all
 * pieces, or that less than half of the bytes at `at`, where the guest executes, are
 * the image's.
 *
 * Kernels patch their own text, so three quarters of the bytes of a piece must be
 * equal, and three quarters of the pieces.  Pieces of one repeated byte are ignored.
 * If a build-id that is loaded with the image differs in the guest, the verdict is
 * negative.  Without one at its place, another within 16 KiB tells this, if the guest
 * does not write that segment and the file does not have the same bytes there.
 *
 * For an image that has only names, pieces of the guest's code at its address are
 * examined: at least half of the calls in each must go to functions of the image.
 */
bool us_elf_image_compare(const struct us_elf_image *i, uint64_t bias, us_gva at,
			  struct us_paging *p, const struct us_space *s,
			  struct us_image_match *ret, bool *ret_same);

enum us_image_check {
	US_CHECK_UNKNOWN, /* nothing could be read */
	US_CHECK_SAME,
	US_CHECK_PATCHED, /* the same but for a few bytes */
	US_CHECK_DIFFERS, /* a piece does: compare the whole */
};

/* Check only the piece at `at`, a gva in the text. */
enum us_image_check us_elf_image_check_at(const struct us_elf_image *i, uint64_t bias,
					  us_gva at, struct us_paging *p,
					  const struct us_space *s);

/* Check four pieces: that at `at` and three others, which differ from turn to turn.
 * For repeated checks while the guest runs. */
enum us_image_check us_elf_image_check(const struct us_elf_image *i, uint64_t bias,
				       us_gva at, unsigned turn, struct us_paging *p,
				       const struct us_space *s);

/* Does the guest have the image's build-id where it would be loaded at this bias?  Then
 * it is this build, even if its text was patched. */
bool us_elf_image_is_build(const struct us_elf_image *i, uint64_t bias,
			   struct us_paging *p, const struct us_space *s);

/* The file's address of the build-id, once loaded; 0: not loaded. */
uint64_t us_elf_image_build_id_at(const struct us_elf_image *i);

#endif
