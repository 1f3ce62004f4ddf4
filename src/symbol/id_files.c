/* SPDX-License-Identifier: GPL-2.0-or-later */
/* id_files.c: see id_files.h. */
#include "symbol/id_files.h"

#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_DEPTH 8U

/* Most files of a tree are none: their first bytes tell. */
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
	if (!begins_as_elf(path) || us_elf_file_open(path, &elf, NULL) < 0)
		return 0;
	us_build_id_read(&elf, &id);
	struct us_id_file *slot = id.len ? us_vec_push(f) : NULL;
	int r = id.len && !slot ? -ENOMEM : 0;
	if (slot) {
		slot->len = id.len < sizeof(slot->id) ? id.len : sizeof(slot->id);
		memcpy(slot->id, id.bytes, slot->len);
		slot->path = strdup(path);
		if (!slot->path) {
			f->n--;
			r = -ENOMEM;
		}
	}
	us_elf_file_close(&elf);
	return r;
}

static int walk(struct us_id_files *f, const char *dir, unsigned depth)
{
	char path[US_DEBUG_PATH];
	struct stat st;
	DIR *d = depth < MOST_DEPTH ? opendir(dir) : NULL;
	int r = 0;
	for (struct dirent *one; d && r == 0 && (one = readdir(d));) {
		int len = snprintf(path, sizeof(path), "%s/%s", dir, one->d_name);
		if (one->d_name[0] == '.' || len >= (int)sizeof(path) ||
		    lstat(path, &st) < 0 || f->looked >= US_ID_FILES_MOST)
			continue;
		if (S_ISDIR(st.st_mode)) {
			r = walk(f, path, depth + 1);
		} else if (S_ISREG(st.st_mode)) {
			f->looked++;
			r = add(f, path);
		}
	}
	if (d)
		closedir(d);
	return r;
}

int us_id_files_read(struct us_id_files *f, const struct us_debug_dirs *dirs)
{
	int r = 0;
	for (size_t k = 0; !f->read && r == 0 && k < dirs->n; k++)
		r = walk(f, dirs->dir[k], 0);
	f->read = true;
	return r;
}

const char *us_id_files_find(const struct us_id_files *f, const uint8_t *id, size_t len,
			     unsigned number)
{
	for (size_t k = 0; len && k < f->n; k++)
		if (f->v[k].len == len && !memcmp(f->v[k].id, id, len) && !number--)
			return f->v[k].path;
	return NULL;
}

void us_id_files_fini(struct us_id_files *f)
{
	for (size_t k = 0; k < f->n; k++)
		free(f->v[k].path);
	free(f->v);
	memset(f, 0, sizeof(*f));
}
