/* SPDX-License-Identifier: GPL-2.0-or-later */
/* symbol_files.h: where the user says that the guest's symbols are: -e, --symbols. */
#ifndef US_CMD_SYMBOL_FILES_H
#define US_CMD_SYMBOL_FILES_H

#include "symbol/debug_file.h"

#define US_MAX_IMAGES 16
#define US_MAX_DIRS   16

/* The texts are the caller's.  Not to be copied once it has folders: dirs is of dir. */
struct us_symbol_files {
	const char *image[US_MAX_IMAGES]; /* "ELF[@BIAS]" */
	size_t n_image;
	const char *dir[US_MAX_DIRS];
	struct us_debug_dirs dirs;
};

#endif
