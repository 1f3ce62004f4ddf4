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
	".debug", "_build",   "bin",	 "boot",    "build",  "builddir", "dbg",
	"debug",  "dist",     "elf",	 "image",   "images", "iso",	  "iso_root",
	"isodir", "isofiles", "isoroot", "kernel",  "obj",    "objs",	  "out",
	"output", "release",  "sym",	 "symbols", "target", "zig-out",
};

/* With the processor or the kind of build behind them. */
static const char *const usual_begin[] = { "bin-", "build-", "build_", "cmake-build-" };

static bool begins(const char *name, const char *with)
{
	return *with && !strncmp(name, with, strlen(with));
}

static bool is_usual(const char *folder, const char *name)
{
	const char *slash = strrchr(folder, '/');
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		if (!strcmp(usual[i], name))
			return true;
	for (size_t i = 0; i < sizeof(usual_begin) / sizeof(*usual_begin); i++)
		if (begins(name, usual_begin[i]))
			return true;
	/* cargo: target/x86_64-unknown-none/release */
	return slash && !strcmp(slash, "/target") && strchr(name, '-');
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

/* An ELF file, but no object file, of which there are many, and no core file. */
static bool begins_as_image(int dir, const char *name)
{
	unsigned char head[EI_NIDENT + 2]; /* up to e_type, in both classes */
	_cleanup_close_ int fd = openat(dir, name,
					O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || read(fd, head, sizeof(head)) != sizeof(head) ||
	    memcmp(head, ELFMAG, SELFMAG) != 0)
		return false;
	unsigned type = head[EI_NIDENT] | (unsigned)head[EI_NIDENT + 1] << 8;
	return type != ET_REL && type != ET_CORE;
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

struct folder {
	const char *path, *but; /* but: a folder in it that was searched before */
	unsigned distance;
	int below; /* levels */
};

static void look_in(struct walk *w, const struct folder *f);

static void take_file(struct walk *w, const struct folder *f, int dir, const char *name,
		      const struct stat *st)
{
	if (!have_inode(w->ret, st) &&
	    (st->st_ino != w->image.st_ino || st->st_dev != w->image.st_dev) &&
	    begins_as_image(dir, name))
		keep(w, f->path, name, st, f->distance);
}

static void take_folder(struct walk *w, const struct folder *f, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", f->path, name);
	const struct folder sub = { .path = path,
				    .but = "",
				    .distance = f->distance + 1,
				    .below = f->below - 1 };
	if (is_usual(f->path, name) && (size_t)n < sizeof(path) &&
	    strcmp(path, f->but) != 0)
		look_in(w, &sub);
}

static void look_for(struct walk *w, const struct folder *f, int dir, DIR *d,
		     mode_t kind)
{
	struct dirent *x;
	struct stat st;
	while (!w->error && w->ret->n < MAX_FILES && w->entries < MAX_ENTRIES &&
	       (x = readdir(d))) {
		w->entries++;
		if (fstatat(dir, x->d_name, &st, 0) < 0 ||
		    (st.st_mode & S_IFMT) != kind)
			continue;
		if (kind == S_IFREG)
			take_file(w, f, dir, x->d_name, &st);
		else
			take_folder(w, f, x->d_name);
	}
}

/* Files of the folder, then of the usual folders in it, `below` levels deep. */
static void look_in(struct walk *w, const struct folder *f)
{
	_cleanup_close_ int dir = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = dir < 0 ? NULL : fdopendir(dup(dir));
	if (!d)
		return;
	look_for(w, f, dir, d, S_IFREG);
	rewinddir(d);
	if (f->below > 0)
		look_for(w, f, dir, d, S_IFDIR);
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

size_t us_kernel_version_of(const char *image, const char **ret)
{
	const char *slash = strrchr(image, '/');
	const char *name = slash ? slash + 1 : image;
	if (!strncmp(name, "vmlinuz-", 8)) {
		*ret = name + 8;
		return strlen(name + 8);
	}
	if (!slash || strcmp(name, "vmlinuz") != 0)
		return 0;
	const char *end = memrchr(image, '/', (size_t)(slash - image));
	if (!end || end - image < 7 || memcmp(end - 7, "modules", 7) != 0 ||
	    (end - image > 7 && end[-8] != '/'))
		return 0;
	*ret = end + 1;
	return (size_t)(slash - end - 1);
}

/* Distributions keep the vmlinux of a packaged vmlinuz in another folder. */
static void look_for_packaged(struct walk *w, const char *image)
{
	static const char *const folders[] = { "/usr/lib/debug/boot",
					       "/usr/lib/debug/lib/modules/%s",
					       "/lib/modules/%s/build" };
	const char *kernel = "";
	char folder[PATH_MAX];
	size_t n = us_kernel_version_of(image, &kernel);
	if (!n || n > NAME_MAX)
		return;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		const char *version = strstr(folders[i], "%s");
		int len = version ? (int)(version - folders[i])
				  : (int)strlen(folders[i]);
		snprintf(folder, sizeof(folder), "%.*s%.*s%s", len, folders[i],
			 version ? (int)n : 0, kernel, version ? version + 2 : "");
		look_in(w, &(struct folder){ folder, "", FAR - 1, 0 });
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
		const struct folder here = { folder, below, 4 * up,
					     MAX_BELOW - (up > 0) };
		look_in(&w, &here);
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
