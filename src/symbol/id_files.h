/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * id_files.h: the ELF files in the user's folders by build-id, whatever their names.
 */
#ifndef US_SYMBOL_ID_FILES_H
#define US_SYMBOL_ID_FILES_H

#include "symbol/build_id.h"
#include "symbol/debug_file.h"

#include <stdatomic.h>

#define US_ID_FILES_MOST  200000U /* files that are read */
#define US_ID_FILES_DEPTH 8U	  /* levels of folders */

struct us_id_files {
	struct us_id_file {
		uint8_t id[US_BUILD_ID_MOST];
		size_t len;
		char *path;
		size_t number; /* order in which it was found */
	} * v;		       /* sorted */
	size_t n, cap;
	unsigned looked;   /* files */
	unsigned most;	   /* of them; 0: US_ID_FILES_MOST */
	unsigned depth;	   /* levels of folders; 0: US_ID_FILES_DEPTH */
	uint64_t limit_ns; /* time it may take; 0: any */
	uint64_t until_ns; /* own */
	bool hidden;	   /* also names that begin with a dot */
	bool late;	   /* there was no time for the others */
	bool full, deep; /* there are more files, or deeper folders, than the limits */
	bool read;
};

/* Read all files in these folders and their subfolders, once, except names that begin
 * with a dot if not f->hidden.  Links are not followed.  Unreadable ones are left out,
 * and so are the kernel's own file systems (/proc, /sys) below them.  stop: checked
 * before each file; may be NULL.  0, -ENOMEM or -ECANCELED. */
US_MUST_CHECK int us_id_files_read(struct us_id_files *f,
				   const struct us_debug_dirs *dirs,
				   const atomic_bool *stop);
/* The number-th file with this build-id, from 0; NULL: there are no more. */
const char *us_id_files_find(const struct us_id_files *f, const uint8_t *id, size_t len,
			     unsigned number);
void us_id_files_fini(struct us_id_files *f); /* accepts a zeroed one */

#endif
