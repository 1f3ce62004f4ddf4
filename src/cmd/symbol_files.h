/* SPDX-License-Identifier: GPL-2.0-or-later */
/* symbol_files.h: the guest's symbols that the user names: -e, --symbols. */
#ifndef US_CMD_SYMBOL_FILES_H
#define US_CMD_SYMBOL_FILES_H

#include "symbol/debug_file.h"

#define US_MAX_IMAGES 16
#define US_MAX_DIRS   16

/* The strings are the caller's.  Do not copy it once it has folders: dirs points to
 * dir. */
struct us_symbol_files {
	const char *image[US_MAX_IMAGES]; /* "ELF[@BIAS]" */
	size_t n_image;
	const char *dir[US_MAX_DIRS];
	struct us_debug_dirs dirs;
};

#endif
