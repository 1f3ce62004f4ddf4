/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paths.h: source paths as people read them: without the folders that all share.
 *
 * Of each group, which is an image, apart.  A path is file, relative to dir if it is
 * not absolute, as DWARF has it.  What is left out are whole folders that all files of
 * the group lie in; if there are none, for a header of the system lies elsewhere, those
 * that all files with a relative path lie in: these are the program's own.
 */
#ifndef US_BASE_PATHS_H
#define US_BASE_PATHS_H

#include "base/err.h"

#include <stddef.h>

#define US_PATH_SIZE 4096 /* bytes with the NUL; a longer path is shown as it is */

struct us_paths {
	struct {
		struct us_path_group {
			char *name;
			char *all, *own; /* folders shared by; NULL: of no file yet */
		} * v;
		size_t n, cap;
	} groups;
};

/* Of a file that is to be shown.  dir NULL: not known.  0 or -ENOMEM. */
US_MUST_CHECK int us_paths_add(struct us_paths *p, const char *group, const char *dir,
			       const char *file);
/* The path without what all that were added share, in file itself or in dst.  One that
 * does not lie there is shown as it is. */
const char *us_paths_show(const struct us_paths *p, const char *group, const char *dir,
			  const char *file, char dst[static US_PATH_SIZE]);
void us_paths_fini(struct us_paths *p); /* accepts a zeroed one */

/* The path to open: dir and file, joined in dst if need be. */
const char *us_path_full(const char *dir, const char *file,
			 char dst[static US_PATH_SIZE]);

#endif
