/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ram_file.c: see ram_file.h. */
#include "vmm/ram_file.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

static bool is_file_of(const struct stat *st, const struct us_map *m)
{
	return S_ISREG(st->st_mode) && st->st_ino == m->inode && st->st_dev == m->dev;
}

/* The file behind a mapping: from map_files (needs CAP_CHECKPOINT_RESTORE or root),
 * else among the open files of the process. */
static int open_file(pid_t pid, const struct us_map *m)
{
	char path[96];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
		 m->start, m->end);
	if (stat(path, &st) == 0 && is_file_of(&st, m))
		return open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int proc = us_proc_open(pid);
	DIR *d = proc < 0 ? NULL : us_proc_folder(proc, "fd");
	int fd = -1;
	for (struct dirent *ent; d && fd < 0 && (ent = readdir(d));)
		if (isdigit((unsigned char)ent->d_name[0]) &&
		    fstatat(dirfd(d), ent->d_name, &st, 0) == 0 && is_file_of(&st, m))
			fd = openat(dirfd(d), ent->d_name, O_RDONLY | O_CLOEXEC);
	if (d)
		closedir(d);
	return fd;
}

/* Is the file safe from untrusted users, who could truncate it while we read it? */
static bool stays_whole(int fd, const struct stat *st)
{
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals >= 0 && (seals & F_SEAL_SHRINK))
		return true;
	bool trusted = st->st_uid == 0 || st->st_uid == geteuid();
	/* A file without a name (a memfd, mode 0777) is reached only through its
	 * owner. */
	return trusted && (!st->st_nlink || !(st->st_mode & (S_IWGRP | S_IWOTH)));
}

/* A hole in a file of huge pages would be filled from a pool that may be empty. */
static bool is_populated(const struct stat *st, bool huge)
{
	return !huge || (uint64_t)st->st_blocks * 512 >= (uint64_t)st->st_size;
}

static void set_kind(struct us_ram_file *f, const struct us_map *m, bool huge)
{
	const char *kind = huge				     ? "hugetlbfs"
			   : !strncmp(m->name, "/memfd:", 7) ? "memfd"
							     : "file";
	snprintf(f->kind, sizeof(f->kind), "%s", kind);
}

void us_ram_file_open(pid_t pid, const struct us_map *m, struct us_ram_file *ret)
{
	uint64_t len = m->end - m->start, end;
	struct stat st;
	struct statfs fs;
	*ret = (struct us_ram_file){ .start = m->start, .end = m->end, .fd = -1 };
	/* For a private mapping, the file has only the pages that were never
	 * written. */
	if (!m->shared || !m->inode || __builtin_add_overflow(m->offset, len, &end))
		return;
	_cleanup_close_ int fd = open_file(pid, m);
	if (fd < 0 || fstat(fd, &st) < 0 || !is_file_of(&st, m) ||
	    (uint64_t)st.st_size < end || fstatfs(fd, &fs) < 0)
		return;
	bool huge = fs.f_type == HUGETLBFS_MAGIC;
	if (!stays_whole(fd, &st) || !is_populated(&st, huge))
		return;
	ret->offset = m->offset;
	ret->fd = us_take_fd(fd);
	set_kind(ret, m, huge);
}

void us_ram_file_close(struct us_ram_file *f)
{
	if (f->fd < 0)
		return;
	close(f->fd);
	*f = (struct us_ram_file){ .fd = -1 };
}

bool us_ram_file_is_whole(const struct us_ram_file *f)
{
	struct stat st;
	return fstat(f->fd, &st) == 0 &&
	       (uint64_t)st.st_size >= f->offset + (f->end - f->start);
}
