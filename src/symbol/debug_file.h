/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_file.h: the separate files of distributions with an image's symbols and DWARF,
 * or the image itself, found by build-id or by the name in .gnu_debuglink.
 *
 * The search order (GDB's manual, "Debugging Information in Separate Files"):
 * - in each of the user's folders: .build-id/ab/cdef.debug, buildid/ID/debuginfo and
 *   ID/debuginfo (debuginfod), the name in .gnu_debuglink;
 * - that name beside the image, and in .debug/ there;
 * - all of these under /usr/lib/debug (there with the image's own folder);
 * - debuginfod's cache;
 * - near the image (beside.h).
 * If both the image and a file have a build-id, the file is taken only if these are
 * equal.  Otherwise the file must have the CRC that .gnu_debuglink gives, or the
 * image's code.
 */
#ifndef US_SYMBOL_DEBUG_FILE_H
#define US_SYMBOL_DEBUG_FILE_H

#include "symbol/elf_file.h"

#define US_DEBUG_PATH 4096

/* The user's folders for such files; not owned. */
struct us_debug_dirs {
	const char *const *dir;
	size_t n;
	bool not_beside; /* do not search near the image: it is one of many there */
	/* Only for a Linux guest's programs. */
	const char *root; /* folder with the guest's files; NULL: none */
};

/* The image whose separate file is wanted. */
struct us_debug_wanted {
	const char *path; /* the image's */
	const struct us_elf_file *file;
	const uint8_t *build_id;
	size_t build_id_len; /* 0: none */
};

/* Open the separate file of an image.  0: *ret_beside says how the file was shown to be
 * the right one if it was not named, else it is NULL.  -ENOENT: there is none; others:
 * the error of the last wrong file, *e says why. */
US_MUST_CHECK int us_debug_file_open(const struct us_debug_wanted *w,
				     const struct us_debug_dirs *dirs,
				     struct us_elf_file *ret,
				     char ret_path[US_DEBUG_PATH],
				     const char **ret_beside, struct us_err *e);

/*
 * dwz(1) moves what several debug files share into another file, which
 * .gnu_debugaltlink names by path and build-id.  f: the file with the DWARF, at path.
 * 0; -ENOENT: f names none, or that file does not exist; -EBADMSG: it is not the one
 * that f names.
 */
US_MUST_CHECK int us_debug_alt_open(const struct us_elf_file *f, const char *path,
				    const struct us_debug_dirs *dirs,
				    struct us_elf_file *ret, struct us_err *e);

/* The path of a file with this build-id; an image is preferred to its debug file.
 * false: there is none.  The caller must check that the file has this id. */
bool us_debug_file_by_id(const uint8_t *id, size_t len,
			 const struct us_debug_dirs *dirs, char ret[US_DEBUG_PATH]);

#endif
