/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * beside.h: ELF files with symbols in the neighbourhood of an image that has none.
 *
 * Builds leave them there: app and app.dbg, kernel.bin or an .iso and kernel.elf,
 * bzImage and vmlinux.  Looked through are the image's folder, three folders above it,
 * and below each of these what builds usually call their folders (build, bin, debug,
 * .debug, iso, ...); never the root of the file system or what lies directly in it,
 * unless the image does.  A file is taken only if it is shown to be of this build:
 *   - by the build-id, if both have one;
 *   - else by its code: all of it is in the image, byte for byte;
 *   - if the image is larger than is read, or compressed in a way that payload.h does
 *     not unpack, neither can be seen, and the guest's memory has to decide.
 * The files are hostile: only regular ones are opened, without waiting; how many are
 * looked at, and how much is compared, is bounded.
 */
#ifndef US_SYMBOL_BESIDE_H
#define US_SYMBOL_BESIDE_H

#include "symbol/elf_file.h"

#define US_BESIDE_MOST 6

enum us_beside_match {
	US_BESIDE_BUILD_ID, /* the same build-id */
	US_BESIDE_CODE,	    /* its code is the image's */
	US_BESIDE_UNKNOWN,  /* the image does not show it */
};

struct us_beside {
	/* Of an image that is, or holds, an ELF file there is one at most. */
	struct us_beside_file {
		char *path;
		enum us_beside_match match;
	} v[US_BESIDE_MOST]; /* the likeliest first */
	size_t n;
	char *refused; /* one of another build whose name is akin; NULL: none */
};

/*
 * Find them.  image is the path of a file that is no ELF file, or of f, which may be
 * of fewer bits than its symbols' file (multiboot wants 32); f NULL: no ELF file.  Of
 * an ELF file there is one at most.  -ENOENT: there is none, but there may be one that
 * was refused; -ENOMEM.  us_beside_fini() in each case.
 */
US_MUST_CHECK int us_beside_find(const char *image, const struct us_elf_file *f,
				 struct us_beside *ret);
void us_beside_fini(struct us_beside *b); /* accepts a zeroed one */

/* "same build-id": how it was shown, for the user. */
const char *us_beside_match_name(enum us_beside_match m);

#endif
