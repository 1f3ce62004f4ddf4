/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shelf.h: the recordings that clients may read: files, and the files in folders.
 *
 * Each has a name for URLs: the path as the user gave it, or the folder's path and the
 * file's name.  No other file is ever opened: a name is looked up among these, and not
 * used as a path.
 */
#ifndef US_SERVE_SHELF_H
#define US_SERVE_SHELF_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_SHELF_MOST 2000 /* most recordings listed for a folder */

struct us_shelf_place {
	char *path;
	bool folder;
};

struct us_shelf {
	struct us_shelf_place *v;
	size_t n, cap;
};

struct us_shelf_item {
	char name[PATH_MAX];
	uint64_t bytes, device, inode;
	int64_t modified_ns; /* since 1970 */
};

struct us_shelf_list {
	/* Places in the user's order, each with its newest recordings first. */
	struct us_shelf_item **v;
	size_t n, cap;
	bool more; /* a folder has more than US_SHELF_MOST */
};

/* Add a file or folder, which must exist: -ENOENT, -EACCES, ... */
US_MUST_CHECK int us_shelf_add(struct us_shelf *s, const char *path, struct us_err *e);
void us_shelf_fini(struct us_shelf *s);

/* List what exists now.  In folders, only files that begin like a recording.  0 or
 * -ENOMEM; a folder that cannot be read has none. */
US_MUST_CHECK int us_shelf_look(const struct us_shelf *s, struct us_shelf_list *ret);
void us_shelf_list_fini(struct us_shelf_list *l);

/* Open the recording of this name, as listed, or of this base name if only one has it;
 * the caller closes *ret_fd.  -ENOENT: none, or several; the message lists them. */
US_MUST_CHECK int us_shelf_open(const struct us_shelf *s, const char *name, int *ret_fd,
				struct us_shelf_item *ret, struct us_err *e);

/* What the beginning of a recording says. */
struct us_shelf_facts {
	char guest[128], started[64], backend[32]; /* "": not given */
	char why[512]; /* what is wrong with it, as far as was read; "": nothing */
};
/* Reads a few KiB.  fd must be at the recording's start. */
void us_shelf_peek(int fd, struct us_shelf_facts *ret);

#endif
