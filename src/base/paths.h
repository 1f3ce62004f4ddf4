/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paths.h: source paths as people read them: without the folders that all share.
 *
 * Each group (an image) is treated separately.  A path is file, relative to dir if it
 * is not absolute, as DWARF has it.  What is left out are the folders that all files of
 * the group are below.  If there are none, because a system header is elsewhere, it is
 * the folders that all files with a relative path are below: these are the program's
 * own files.
 */
#ifndef US_BASE_PATHS_H
#define US_BASE_PATHS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define US_PATH_SIZE 4096 /* bytes with the NUL; a longer path is shown as it is */

struct us_paths {
	struct {
		struct us_path_group {
			char *name;
			char *all, *own; /* folders shared by all files, and by the
					    program's own; NULL: no such file yet */
		} * v;
		size_t n, cap;
	} groups;
};

/* Add a file that is to be shown.  dir NULL: not known.  0 or -ENOMEM. */
US_MUST_CHECK int us_paths_add(struct us_paths *p, const char *group, const char *dir,
			       const char *file);
/* The path without the shared folders; it points into file or to dst.  A path that is
 * not below them is shown as it is. */
const char *us_paths_show(const struct us_paths *p, const char *group, const char *dir,
			  const char *file, char dst[static US_PATH_SIZE]);
void us_paths_fini(struct us_paths *p); /* accepts a zeroed one */

/* The path to open: dir and file, joined in dst if need be. */
const char *us_path_full(const char *dir, const char *file,
			 char dst[static US_PATH_SIZE]);

/* Do they name one file, without asking the file system?  A file in an unknown
 * directory is only the same as one that is spelled so. */
bool us_path_is_same(const char *dir, const char *file, const char *other_dir,
		     const char *other_file);

/* Is `end` the end of the path, from one of its names on?  As it is in DWARF, or as
 * us_paths_show() may show it. */
bool us_path_ends_with(const char *dir, const char *file, const char *end);

#endif
