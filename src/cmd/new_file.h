/* SPDX-License-Identifier: GPL-2.0-or-later */
/* new_file.h: a file that replaces an earlier one only when there is something in it.
 */
#ifndef US_CMD_NEW_FILE_H
#define US_CMD_NEW_FILE_H

#include "base/err.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>

struct us_new_file {
	char path[US_STORE_MAX_PATH]; /* where it will be: links are followed */
	/* Its name until it is kept; "": it has none, or it is in place. */
	char hidden[US_STORE_MAX_PATH];
	bool in_place, kept;
	bool moved; /* by somebody, to path, since it was kept */
	int fd;	    /* the caller's, who closes it */
};

/*
 * Create a file in the folder of path, without a name if that is possible, with mode
 * 0600 or that of the caller's own earlier file.  A device, a pipe, and a file in a
 * folder where no other can be created are opened in place, and cut.
 */
US_MUST_CHECK int us_new_file_open(struct us_new_file *f, const char *path,
				   struct us_err *e);
/* Give it its name: an earlier file of that name is gone.  If it was kept before, and
 * has been removed since, it is written again; if it was moved, path says where to.  fd
 * must be open. */
US_MUST_CHECK int us_new_file_keep(struct us_new_file *f, struct us_err *e);
/* Remove the file unless it was kept or is in place.  Does not close fd. */
void us_new_file_drop(struct us_new_file *f);

/* Is it what standard output leads to, such as /dev/stdout?  Opened once more, each
 * would write over what the other has written. */
bool us_new_file_is_stdout(const char *path);

/* Print "wrote FILE" to standard output. */
void us_tell_written(const char *path);

/* Fail if path is one of these n files; "-" is standard input.  path may be NULL. */
US_MUST_CHECK int us_new_file_is_none_of(const char *path, const char *const *in,
					 size_t n, struct us_err *e);

/* For root by sudo: give what was just created to the user that called sudo. */
void us_new_file_give_back(int fd);
/* The same for a new folder, and the files in it. */
void us_new_file_give_back_folder(int fd);

#endif
