/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * beside.h: finds ELF files with symbols near an image that has none.
 *
 * Builds leave them there: app and app.dbg, kernel.bin or an .iso and kernel.elf,
 * bzImage and vmlinux.  The search covers the image's folder, three folders above it,
 * and below each of these the usual folders of builds (build, bin, debug, .debug, iso,
 * ...).  It never covers the root of the file system or files directly in it, unless
 * the image is there.  A file is taken only if it is shown to be of this build:
 *   - by the build-id, if both have one;
 *   - else by its code: the image has all of it, byte for byte;
 *   - if the image is larger than the limit, or compressed in a way that payload.h does
 *     not unpack, neither can be checked, and the guest's memory decides.  UEFI
 *     programs are not packed: for them it must be shown.
 * uniscope's own program is never taken.
 * The files are hostile: only regular ones are opened, without blocking; the number of
 * files and the bytes that are compared are bounded.
 */
#ifndef US_SYMBOL_BESIDE_H
#define US_SYMBOL_BESIDE_H

#include "symbol/elf_file.h"

#define US_BESIDE_MOST 6

enum us_beside_match {
	US_BESIDE_BUILD_ID, /* the same build-id */
	US_BESIDE_CODE,	    /* its code is the image's */
	US_BESIDE_UNKNOWN,  /* the image cannot show it */
};

struct us_beside {
	/* At most one for an image that is, or holds, an ELF file. */
	struct us_beside_file {
		char *path;
		enum us_beside_match match;
	} v[US_BESIDE_MOST]; /* the likeliest first */
	size_t n;
	char *refused; /* one with a related name but of another build; NULL: none */
};

/*
 * Find them.  image: path of the image.  f: the same file opened, or NULL if it is not
 * an ELF file.  f may be a 32-bit file while that with its symbols is 64-bit (multiboot
 * wants 32).  -ENOENT: there is none, though ret->refused may be set; -ENOMEM.  Call
 * us_beside_fini() in each case.
 */
US_MUST_CHECK int us_beside_find(const char *image, const struct us_elf_file *f,
				 struct us_beside *ret);
void us_beside_fini(struct us_beside *b); /* accepts a zeroed one */

/* "same build-id": how it was shown, for the user. */
const char *us_beside_match_name(enum us_beside_match m);

#endif
