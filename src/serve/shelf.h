/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shelf.h: the recordings that may be looked at: files, and those in folders.
 *
 * Each has a name that URLs have: the path as the user gave it, or the folder's and the
 * file's.  No other file is ever opened: a name is looked for among these, not
 * followed.
 */
#ifndef US_SERVE_SHELF_H
#define US_SERVE_SHELF_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_SHELF_MOST 2000 /* recordings of a folder that are listed */

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
	struct us_shelf_item *
		*v; /* places in the user's order, in them the newest first */
	size_t n, cap;
	bool more; /* a folder has more than US_SHELF_MOST */
};

/* It must be there: -ENOENT, -EACCES, ... */
US_MUST_CHECK int us_shelf_add(struct us_shelf *s, const char *path, struct us_err *e);
void us_shelf_fini(struct us_shelf *s);

/* What is there now.  Of folders: files that begin as a recording does.  0 or -ENOMEM;
 * a folder that cannot be read has none. */
US_MUST_CHECK int us_shelf_look(const struct us_shelf *s, struct us_shelf_list *ret);
void us_shelf_list_fini(struct us_shelf_list *l);

/* Open the one of this name; *ret_fd is the caller's.  -ENOENT: there is none. */
US_MUST_CHECK int us_shelf_open(const struct us_shelf *s, const char *name, int *ret_fd,
				struct us_shelf_item *ret, struct us_err *e);

/* What its beginning says. */
struct us_shelf_facts {
	char guest[128], started[64], backend[32]; /* "": not told */
	char why[512]; /* what is wrong with it; "" if nothing is, as far as was read */
};
/* Reads a few KiB.  fd is at the recording's start. */
void us_shelf_peek(int fd, struct us_shelf_facts *ret);

#endif
