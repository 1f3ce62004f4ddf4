/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * beside_walk.h: the files near an image, the likeliest first.
 */
#ifndef US_SYMBOL_BESIDE_WALK_H
#define US_SYMBOL_BESIDE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct us_near_file {
	char *path;
	unsigned rank; /* less is likelier: by name, then by distance */
	bool akin;     /* its name relates it to the image */
	dev_t dev;
	ino_t ino;
};

struct us_near_files {
	struct us_near_file *v;
	size_t n, cap;
};

/* Regular files that begin like an ELF file, without the image itself, one for each
 * inode, sorted by rank.  Unreadable ones are left out.  0 or -ENOMEM. */
int us_near_files(const char *image, struct us_near_files *ret);
void us_near_files_fini(struct us_near_files *f); /* accepts a zeroed one */

/* VERSION of a Linux image .../vmlinuz-VERSION or .../modules/VERSION/vmlinuz, where
 * Fedora and Arch have theirs: its length; 0: the path has none. */
size_t us_kernel_version_of(const char *image, const char **ret);

#endif
