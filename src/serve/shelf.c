/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shelf.c: see shelf.h. */
#include "serve/shelf.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "base/vec.h"
#include "store/format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- What the user gave ---- */

int us_shelf_add(struct us_shelf *s, const char *path, struct us_err *e)
{
	struct stat st;
	size_t n = strlen(path);
	if (stat(path, &st) || access(path, R_OK)) {
		int code = -errno;
		us_fail(e, code, "open %s: %s", path, strerror(-code));
		if (code == -ENOENT)
			us_hint(e, "uniscope record makes a recording");
		return code;
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return us_fail(e, -EINVAL, "open %s: neither a file nor a folder",
			       path);
	struct us_shelf_place *p = us_vec_push(s);
	if (!p)
		return us_fail(e, -ENOMEM, "open %s: out of memory", path);
	while (n > 1 && path[n - 1] == '/')
		n--;
	p->folder = S_ISDIR(st.st_mode);
	p->path = strndup(path, n);
	if (p->path)
		return 0;
	s->n--;
	return us_fail(e, -ENOMEM, "open %s: out of memory", path);
}

void us_shelf_fini(struct us_shelf *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].path);
	free(s->v);
	*s = (struct us_shelf){ 0 };
}

/* ---- Files ---- */

/* An open file, or -errno; never a pipe, where opening would wait. */
static int open_file(int dir, const char *path, struct us_shelf_item *ret)
{
	struct stat st;
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -ENOENT;
	}
	ret->bytes = (uint64_t)st.st_size;
	ret->device = st.st_dev;
	ret->inode = st.st_ino;
	ret->modified_ns = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
	return fd;
}

static bool begins_as_recording(int fd)
{
	char magic[sizeof(US_STORE_MAGIC) - 1];
	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       !memcmp(magic, US_STORE_MAGIC, sizeof(magic));
}

/* A recording in a folder, by its file's name. */
static int open_in(int dir, const char *file, struct us_shelf_item *ret)
{
	int fd = open_file(dir, file, ret);
	if (fd < 0 || begins_as_recording(fd))
		return fd;
	close(fd);
	return -ENOENT;
}

/* "." adds nothing to a name: its files are in the user's own folder. */
static bool set_name(char *dst, const struct us_shelf_place *p, const char *file)
{
	bool here = !strcmp(p->path, "."), root = !strcmp(p->path, "/");
	int n = snprintf(dst, PATH_MAX, "%s%s%s", here ? "" : p->path,
			 here || root ? "" : "/", file);
	return n > 0 && n < PATH_MAX;
}

/* ---- The list ---- */

static int push(struct us_shelf_list *l, const struct us_shelf_item *i)
{
	struct us_shelf_item *copy = malloc(sizeof(*copy));
	struct us_shelf_item **slot = copy ? us_vec_push(l) : NULL;
	if (!slot) {
		free(copy);
		return -ENOMEM;
	}
	*copy = *i;
	*slot = copy;
	return 0;
}

static int compare_items(const void *a, const void *b)
{
	const struct us_shelf_item *x = *(struct us_shelf_item *const *)a;
	const struct us_shelf_item *y = *(struct us_shelf_item *const *)b;
	if (x->modified_ns != y->modified_ns)
		return x->modified_ns > y->modified_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int look_in(const struct us_shelf_place *p, struct us_shelf_list *l)
{
	DIR *d = opendir(p->path);
	size_t first = l->n;
	struct us_shelf_item i = { 0 };
	int rc = 0;
	for (struct dirent *x; d && rc == 0 && (x = readdir(d));) {
		int fd = x->d_type == DT_DIR ? -1 : open_in(dirfd(d), x->d_name, &i);
		if (fd < 0)
			continue;
		close(fd);
		l->more = l->more || l->n - first == US_SHELF_MOST;
		if (l->n - first < US_SHELF_MOST && set_name(i.name, p, x->d_name))
			rc = push(l, &i);
	}
	if (d)
		closedir(d);
	if (l->n > first)
		qsort(l->v + first, l->n - first, sizeof(*l->v), compare_items);
	return rc;
}

int us_shelf_look(const struct us_shelf *s, struct us_shelf_list *ret)
{
	int rc = 0;
	*ret = (struct us_shelf_list){ 0 };
	for (size_t k = 0; k < s->n && rc == 0; k++) {
		struct us_shelf_item i = { 0 };
		if (s->v[k].folder) {
			rc = look_in(&s->v[k], ret);
			continue;
		}
		_cleanup_close_ int fd = open_file(AT_FDCWD, s->v[k].path, &i);
		if (fd >= 0 && strlen(s->v[k].path) < sizeof(i.name)) {
			strcpy(i.name, s->v[k].path);
			rc = push(ret, &i);
		}
	}
	if (rc)
		us_shelf_list_fini(ret);
	return rc;
}

void us_shelf_list_fini(struct us_shelf_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct us_shelf_list){ 0 };
}

/* ---- One of them ---- */

/* Opens the file with this name in this place; or -errno. */
static int open_named(const struct us_shelf_place *p, const char *name,
		      struct us_shelf_item *ret)
{
	char whole[PATH_MAX];
	const char *slash = strrchr(name, '/'), *file = slash ? slash + 1 : name;
	if (!p->folder)
		return strcmp(p->path, name) ? -ENOENT
					     : open_file(AT_FDCWD, p->path, ret);
	/* Only the name exactly as listed, not another spelling of the same path. */
	if (!*file || !strcmp(file, "..") || !set_name(whole, p, file) ||
	    strcmp(whole, name) != 0)
		return -ENOENT;
	_cleanup_close_ int dir = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -errno : open_in(dir, file, ret);
}

static int open_listed(const struct us_shelf *s, const char *name,
		       struct us_shelf_item *ret)
{
	int fd = -ENOENT;
	for (size_t k = 0; k < s->n && fd == -ENOENT; k++)
		fd = open_named(&s->v[k], name, ret);
	return fd == -ENAMETOOLONG ? -ENOENT : fd;
}

static const char *base_of(const struct us_shelf_item *i)
{
	const char *slash = strrchr(i->name, '/');
	return slash ? slash + 1 : i->name;
}

/* Those with this base name, or all (NULL): "a, b, ..." */
static size_t list_names(const struct us_shelf_list *l, const char *base, char *dst,
			 size_t size)
{
	size_t n = 0;
	char one[160];
	dst[0] = '\0';
	for (size_t i = 0; i < l->n; i++) {
		if (base && strcmp(base_of(l->v[i]), base) != 0)
			continue;
		us_printable(one, sizeof(one), l->v[i]->name);
		bool fits = strlen(dst) + strlen(one) + 8 < size;
		us_append(dst, size, "%s%s", n ? ", " : "", fits ? one : "...");
		n++;
		if (!fits)
			break;
	}
	return n;
}

static int fail_none(const struct us_shelf_list *l, const char *name, struct us_err *e)
{
	char names[300];
	size_t n = list_names(l, name, names, sizeof(names));
	if (n > 1)
		return us_fail(e, -ENOENT, "open %.120s: several have this name: %s",
			       name, names);
	n = list_names(l, NULL, names, sizeof(names));
	return us_fail(e, -ENOENT,
		       "open %.120s: not one of the recordings that are served%s%s",
		       name, n ? ": " : "", names);
}

/* By its base name, if only one has it. */
static int open_by_base(const struct us_shelf *s, const char *name,
			struct us_shelf_item *ret, struct us_err *e)
{
	struct us_shelf_list l;
	char whole[PATH_MAX] = "";
	if (us_shelf_look(s, &l))
		return us_fail(e, -ENOMEM, "out of memory");
	size_t n = 0;
	for (size_t i = 0; i < l.n; i++)
		if (!strcmp(base_of(l.v[i]), name) && n++ == 0)
			snprintf(whole, sizeof(whole), "%s", l.v[i]->name);
	int fd = n == 1 ? open_listed(s, whole, ret) : -ENOENT;
	if (fd == -ENOENT)
		fail_none(&l, name, e);
	else if (fd < 0)
		us_fail(e, fd, "open %s: %s", whole, strerror(-fd));
	else
		snprintf(ret->name, sizeof(ret->name), "%s", whole);
	us_shelf_list_fini(&l);
	return fd;
}

int us_shelf_open(const struct us_shelf *s, const char *name, int *ret_fd,
		  struct us_shelf_item *ret, struct us_err *e)
{
	int fd = open_listed(s, name, ret);
	if (fd >= 0)
		snprintf(ret->name, sizeof(ret->name), "%s", name);
	else if (fd == -ENOENT)
		fd = open_by_base(s, name, ret, e);
	else
		us_fail(e, fd, "open %s: %s", name, strerror(-fd));
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}
