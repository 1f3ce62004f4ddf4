/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_file.h: the files that distributions keep apart from an image: its symbols and
 * DWARF, or the image itself, found by its build-id or by the name that it gives.
 *
 * Looked for, in this order, in each folder of the user's: .build-id/ab/cdef.debug,
 * buildid/ID/debuginfo and ID/debuginfo (debuginfod), the name of .gnu_debuglink; then
 * that name beside the image and in .debug/ there; then all of it under /usr/lib/debug
 * (there with the image's own folder); then in debuginfod's cache; then beside the
 * image (beside.h).  (GDB's manual, "Debugging Information in Separate Files".)  A file
 * is taken only if its build-id is the image's, or, if it has none, if its CRC is what
 * .gnu_debuglink says, or if it has the image's code.
 */
#ifndef US_SYMBOL_DEBUG_FILE_H
#define US_SYMBOL_DEBUG_FILE_H

#include "symbol/elf_file.h"

#define US_DEBUG_PATH 4096

/* Where the user says that files are; not owned. */
struct us_debug_dirs {
	const char *const *dir;
	size_t n;
	bool not_beside; /* not beside the image: it is one of many in its folder */
	/* For a Linux guest's programs alone. */
	const char *root; /* the guest's files; NULL: not there */
};

/* Of an image: what its separate file must have. */
struct us_debug_wanted {
	const char *path; /* the image's */
	const struct us_elf_file *file;
	const uint8_t *build_id;
	size_t build_id_len; /* 0: none */
};

/* Open the separate file of an image.  0, and *ret_beside says how it was shown to be
 * the right one if nothing named it, or is NULL; -ENOENT: there is none; others: the
 * last one that was not right, *e says why. */
US_MUST_CHECK int us_debug_file_open(const struct us_debug_wanted *w,
				     const struct us_debug_dirs *dirs,
				     struct us_elf_file *ret,
				     char ret_path[US_DEBUG_PATH],
				     const char **ret_beside, struct us_err *e);

/*
 * What several debug files have in common, dwz(1) puts into one more, which
 * .gnu_debugaltlink names by path and build-id.  f: the file with the DWARF, at path.
 * 0; -ENOENT: it names none, or that is not there; -EBADMSG: not the one it names.
 */
US_MUST_CHECK int us_debug_alt_open(const struct us_elf_file *f, const char *path,
				    const struct us_debug_dirs *dirs,
				    struct us_elf_file *ret, struct us_err *e);

/* The path of a file with this build-id, the image before its debug file; false: there
 * is none.  That it has this id is for the caller to check. */
bool us_debug_file_by_id(const uint8_t *id, size_t len,
			 const struct us_debug_dirs *dirs, char ret[US_DEBUG_PATH]);

#endif
