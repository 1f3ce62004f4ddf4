/* SPDX-License-Identifier: GPL-2.0-or-later */
/* id_files.c: see id_files.h. */
#include "symbol/id_files.h"

#include "base/clock.h"
#include "base/search.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Most files of a tree are not ELF: their first bytes show that. */
static bool begins_as_elf(const char *path)
{
	char head[4] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool elf = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
		   !memcmp(head, "\177ELF", 4);
	if (fd >= 0)
		close(fd);
	return elf;
}

static int add(struct us_id_files *f, const char *path)
{
	struct us_elf_file elf;
	struct us_build_id id;
	if (!begins_as_elf(path) || us_elf_file_open_notes(path, &elf, NULL) < 0)
		return 0;
	us_build_id_read(&elf, &id);
	struct us_id_file *slot = id.len ? us_vec_push(f) : NULL;
	int r = id.len && !slot ? -ENOMEM : 0;
	if (slot) {
		slot->len = id.len < sizeof(slot->id) ? id.len : sizeof(slot->id);
		memcpy(slot->id, id.bytes, slot->len);
		slot->number = f->n;
		slot->path = strdup(path);
		if (!slot->path) {
			f->n--;
			r = -ENOMEM;
		}
	}
	us_elf_file_close(&elf);
	return r;
}

struct walk {
	struct us_id_files *f;
	const atomic_bool *stop;
};

static int walk(const struct walk *w, const char *dir, unsigned depth);

/* They have no end, and some of their files wait for the reader. */
static bool is_of_kernel(const char *dir)
{
	struct statfs s;
	return statfs(dir, &s) == 0 &&
	       (s.f_type == PROC_SUPER_MAGIC || s.f_type == SYSFS_MAGIC);
}

static int take_folder(const struct walk *w, const char *path, unsigned depth)
{
	struct us_id_files *f = w->f;
	if (is_of_kernel(path))
		return 0;
	if (depth < (f->depth ? f->depth : US_ID_FILES_DEPTH))
		return walk(w, path, depth);
	f->deep = true;
	return 0;
}

static int take_entry(const struct walk *w, const char *path, unsigned depth)
{
	struct us_id_files *f = w->f;
	struct stat st;
	if (w->stop && atomic_load(w->stop))
		return -ECANCELED;
	if (lstat(path, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return take_folder(w, path, depth + 1);
	if (!S_ISREG(st.st_mode))
		return 0;
	f->late = f->limit_ns && us_now_ns() >= f->until_ns;
	if (f->late)
		return 0;
	if (f->looked == (f->most ? f->most : US_ID_FILES_MOST)) {
		f->full = true;
		return 0;
	}
	f->looked++;
	return add(f, path);
}

static bool is_at_limit(const struct us_id_files *f)
{
	return f->full || f->late;
}

static bool is_left_out(const struct us_id_files *f, const char *name)
{
	return name[0] == '.' && (!f->hidden || !name[1] || !strcmp(name, ".."));
}

static int walk(const struct walk *w, const char *dir, unsigned depth)
{
	char path[US_DEBUG_PATH];
	DIR *d = opendir(dir);
	int r = 0;
	for (struct dirent *one;
	     d && r == 0 && !is_at_limit(w->f) && (one = readdir(d));) {
		int len = snprintf(path, sizeof(path), "%s/%s", dir, one->d_name);
		if (!is_left_out(w->f, one->d_name) && len < (int)sizeof(path))
			r = take_entry(w, path, depth);
	}
	if (d)
		closedir(d);
	return r;
}

static int compare(const struct us_id_file *a, const uint8_t *id, size_t len)
{
	return a->len != len ? (a->len < len ? -1 : 1) : memcmp(a->id, id, len);
}

static int by_id(const void *a, const void *b)
{
	const struct us_id_file *x = a, *y = b;
	int r = compare(x, y->id, y->len);
	return r ? r : (x->number > y->number) - (x->number < y->number);
}

int us_id_files_read(struct us_id_files *f, const struct us_debug_dirs *dirs,
		     const atomic_bool *stop)
{
	const struct walk w = { f, stop };
	int r = 0;
	if (f->read)
		return 0;
	f->until_ns = us_now_ns() + f->limit_ns;
	for (size_t k = 0; r == 0 && k < dirs->n; k++)
		r = walk(&w, dirs->dir[k], 0);
	if (f->n)
		qsort(f->v, f->n, sizeof(*f->v), by_id);
	f->read = true;
	return r;
}

const char *us_id_files_find(const struct us_id_files *f, const uint8_t *id, size_t len,
			     unsigned number)
{
	if (!len || len > US_BUILD_ID_MOST)
		return NULL;
	size_t k = us_first_not(f->n, mid, compare(&f->v[mid], id, len) < 0);
	return number < f->n - k && !compare(&f->v[k + number], id, len)
		       ? f->v[k + number].path
		       : NULL;
}

void us_id_files_fini(struct us_id_files *f)
{
	for (size_t k = 0; k < f->n; k++)
		free(f->v[k].path);
	free(f->v);
	memset(f, 0, sizeof(*f));
}
