/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * id_files.h: the ELF files of the user's folders by their build-ids, whatever they are
 * called.
 */
#ifndef US_SYMBOL_ID_FILES_H
#define US_SYMBOL_ID_FILES_H

#include "symbol/build_id.h"
#include "symbol/debug_file.h"

#include <stdatomic.h>

#define US_ID_FILES_MOST  200000U /* files that are looked at */
#define US_ID_FILES_DEPTH 8U	  /* folders in one another */

struct us_id_files {
	struct us_id_file {
		uint8_t id[US_BUILD_ID_MOST];
		size_t len;
		char *path;
		size_t number; /* in which they were found */
	} * v;		       /* sorted */
	size_t n, cap;
	unsigned looked; /* files */
	unsigned most;	 /* of them; 0: US_ID_FILES_MOST */
	bool full,
		deep; /* there are more of them, or deeper ones, than are looked at */
	bool read;
};

/* All in these folders and those within, but such as begin with a dot: read once. Those
 * that cannot be read are left out.  stop: asked before each file; may be NULL.  0,
 * -ENOMEM or -ECANCELED. */
US_MUST_CHECK int us_id_files_read(struct us_id_files *f,
				   const struct us_debug_dirs *dirs,
				   const atomic_bool *stop);
/* The number-th with this build-id, from 0; NULL: there are no more. */
const char *us_id_files_find(const struct us_id_files *f, const uint8_t *id, size_t len,
			     unsigned number);
void us_id_files_fini(struct us_id_files *f); /* accepts a zeroed one */

#endif
