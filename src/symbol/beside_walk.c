/* SPDX-License-Identifier: GPL-2.0-or-later */
/* beside_walk.c: see beside_walk.h. */
#include "symbol/beside_walk.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ENTRIES 8192U /* checked in total */
#define MAX_FILES   256U
#define MAX_BELOW   3
#define MAX_ABOVE   3  /* arch/x86/boot/bzImage is three below its vmlinux */
#define FAR	    16 /* more than any distance */

struct walk {
	const char *stem; /* of the image's name */
	struct stat image;
	struct us_near_files *ret;
	unsigned entries;
	int error;
};

/* Names that builds use for their output folders. */
static const char *const usual[] = {
	".debug", "bin",      "boot",	 "build",  "dbg",     "debug",
	"dist",	  "elf",      "image",	 "images", "iso",     "iso_root",
	"isodir", "isofiles", "isoroot", "kernel", "obj",     "objs",
	"out",	  "output",   "release", "sym",	   "symbols", "target",
};

static bool is_usual(const char *name)
{
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		if (!strcmp(usual[i], name))
			return true;
	return false;
}

static bool cut_end(char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);
	if (len <= n || strcmp(name + len - n, end) != 0)
		return false;
	name[len - n] = '\0';
	return true;
}

/* "kernel" of "kernel-stripped.elf": what the files of one build have in common. */
static void stem_of(const char *path, char *ret, size_t size)
{
	static const char *const ends[] = { "-stripped",   "_stripped",	  ".stripped",
					    "-unstripped", ".unstripped", "-debug",
					    "_debug",	   ".debug",	  ".dbg" };
	const char *slash = strrchr(path, '/');
	snprintf(ret, size, "%s", slash ? slash + 1 : path);
	char *dot = strrchr(ret, '.');
	if (dot && dot != ret)
		*dot = '\0';
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		cut_end(ret, ends[i]);
	if (!strncmp(ret, "vmlinuz", 7))
		ret[6] = 'x';
}

static bool begins(const char *name, const char *with)
{
	return *with && !strncmp(name, with, strlen(with));
}

static unsigned rank_of(const char *path, const char *stem)
{
	char own[NAME_MAX + 1];
	stem_of(path, own, sizeof(own));
	if (!strcmp(own, stem))
		return 0;
	if (begins(own, stem) || begins(stem, own))
		return 1;
	return strstr(own, "kernel") || !strcmp(own, "vmlinux") ? 2 : 3;
}

static bool begins_as_elf(int dir, const char *name)
{
	char magic[SELFMAG];
	_cleanup_close_ int fd = openat(dir, name,
					O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	       !memcmp(magic, ELFMAG, sizeof(magic));
}

static bool have_inode(const struct us_near_files *f, const struct stat *st)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].ino == st->st_ino && f->v[i].dev == st->st_dev)
			return true;
	return false;
}

static void keep(struct walk *w, const char *folder, const char *name,
		 const struct stat *st, unsigned distance)
{
	struct us_near_files *f = w->ret;
	char *path;
	if (f->n == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 16;
		struct us_near_file *v = realloc(f->v, cap * sizeof(*v));
		if (!v) {
			w->error = -ENOMEM;
			return;
		}
		f->v = v;
		f->cap = cap;
	}
	if (asprintf(&path, "%s/%s", folder, name) < 0) {
		w->error = -ENOMEM;
		return;
	}
	unsigned rank = rank_of(path, w->stem);
	f->v[f->n++] = (struct us_near_file){ .path = path,
					      .rank = rank * FAR + distance,
					      .akin = rank < 2,
					      .dev = st->st_dev,
					      .ino = st->st_ino };
}

/* Files of the folder, then of the usual folders in it, `below` levels deep. */
static void look_in(struct walk *w, const char *folder, unsigned distance, int below,
		    const char *but)
{
	_cleanup_close_ int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = dir < 0 ? NULL : fdopendir(dup(dir));
	char sub[PATH_MAX];
	struct dirent *x;
	struct stat st;
	while (d && !w->error && w->ret->n < MAX_FILES && w->entries < MAX_ENTRIES &&
	       (x = readdir(d))) {
		w->entries++;
		if (fstatat(dir, x->d_name, &st, 0) < 0)
			continue;
		if (S_ISREG(st.st_mode) && !have_inode(w->ret, &st) &&
		    (st.st_ino != w->image.st_ino || st.st_dev != w->image.st_dev) &&
		    begins_as_elf(dir, x->d_name))
			keep(w, folder, x->d_name, &st, distance);
		int n = snprintf(sub, sizeof(sub), "%s/%s", folder, x->d_name);
		if (S_ISDIR(st.st_mode) && below > 0 && is_usual(x->d_name) &&
		    (size_t)n < sizeof(sub) && strcmp(sub, but) != 0)
			look_in(w, sub, distance + 1, below - 1, "");
	}
	if (d)
		closedir(d);
}

/* Go to the parent folder, in place; false: that is not part of a build. */
static bool go_up(char *folder)
{
	char *slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return false;
	*slash = '\0';
	return strchr(folder + 1, '/') != NULL;
}

/* Distributions keep the vmlinux of /boot/vmlinuz-VERSION in another folder. */
static void look_for_packaged(struct walk *w, const char *image)
{
	static const char *const folders[] = { "/usr/lib/debug/boot",
					       "/usr/lib/debug/lib/modules/%s",
					       "/lib/modules/%s/build" };
	const char *slash = strrchr(image, '/');
	const char *name = slash ? slash + 1 : image;
	char folder[PATH_MAX];
	if (strncmp(name, "vmlinuz-", 8) != 0 || strlen(name) > NAME_MAX)
		return;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		const char *version = strstr(folders[i], "%s");
		int len = version ? (int)(version - folders[i])
				  : (int)strlen(folders[i]);
		snprintf(folder, sizeof(folder), "%.*s%s%s", len, folders[i],
			 version ? name + 8 : "", version ? version + 2 : "");
		look_in(w, folder, FAR - 1, 0, "");
	}
}

static int by_rank(const void *a, const void *b)
{
	const struct us_near_file *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->path, y->path);
}

int us_near_files(const char *image, struct us_near_files *ret)
{
	char stem[NAME_MAX + 1], folder[PATH_MAX], below[PATH_MAX] = "";
	struct walk w = { .stem = stem, .ret = ret };
	_cleanup_free_ char *whole = realpath(image, NULL);
	memset(ret, 0, sizeof(*ret));
	if (!whole || stat(whole, &w.image) < 0 || strlen(whole) >= sizeof(folder))
		return errno == ENOMEM ? -ENOMEM : 0;
	stem_of(whole, stem, sizeof(stem));
	snprintf(folder, sizeof(folder), "%s", whole);
	*strrchr(folder, '/') = '\0';
	for (unsigned up = 0; folder[0] && up <= MAX_ABOVE && !w.error; up++) {
		look_in(&w, folder, 4 * up, MAX_BELOW - (up > 0), below);
		snprintf(below, sizeof(below), "%s", folder);
		if (!go_up(folder))
			break;
	}
	look_for_packaged(&w, whole);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_rank);
	return w.error;
}

void us_near_files_fini(struct us_near_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].path);
	free(f->v);
	*f = (struct us_near_files){ 0 };
}
