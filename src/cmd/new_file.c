/* SPDX-License-Identifier: GPL-2.0-or-later */
/* new_file.c: see new_file.h. */
#include "cmd/new_file.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIDDEN ".uniscope-XXXXXX"

static int fail(const char *path, int code, struct us_err *e)
{
	us_fail(e, code, "create %s: %s", path, strerror(-code));
	us_hint(e, "-o FILE in a directory that you may write to");
	return code == -EACCES || code == -ENOENT || code == -EPERM ? -EIO : code;
}

/* With O_RDWR, a pipe would not wait for its reader. */
static int open_in_place(struct us_new_file *f, struct us_err *e)
{
	struct stat st;
	bool special = stat(f->path, &st) == 0 && !S_ISREG(st.st_mode);
	f->in_place = true;
	f->fd = open(f->path,
		     (special ? O_WRONLY : O_RDWR | O_CREAT | O_TRUNC) | O_CLOEXEC |
			     O_NOCTTY,
		     0600);
	return f->fd < 0 ? fail(f->path, -errno, e) : 0;
}

/* A symbolic link stays one: the file that it leads to is replaced.  /dev/stdout and
 * the like lead to a file that somebody has open, and goes on writing to. */
static bool follow_link(struct us_new_file *f)
{
	_cleanup_free_ char *real = realpath(f->path, NULL);
	if (!real || !strncmp(f->path, "/dev/", 5) || !strncmp(f->path, "/proc/", 6) ||
	    strlen(real) >= sizeof(f->path))
		return false;
	memcpy(f->path, real, strlen(real) + 1);
	return true;
}

/* Without a name nothing is left behind, whatever happens.  It gets one through
 * /proc. */
static int create_nameless(const char *dir)
{
	char link[64];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fd < 0 || access(link, F_OK) == 0)
		return fd;
	close(fd);
	return -1;
}

/* The folder of path, with its last slash; "" is the working directory. */
static void hide(struct us_new_file *f)
{
	const char *slash = strrchr(f->path, '/');
	int n = slash ? (int)(slash - f->path) + 1 : 0;
	snprintf(f->hidden, sizeof(f->hidden), "%.*s" HIDDEN, n, f->path);
}

static int create_beside(struct us_new_file *f)
{
	char dir[sizeof(f->path)];
	const char *slash = strrchr(f->path, '/');
	int n = slash ? (int)(slash - f->path) + 1 : 0;
	snprintf(dir, sizeof(dir), "%.*s", n ? n : 1, n ? f->path : ".");
	f->fd = create_nameless(dir);
	if (f->fd >= 0)
		return 0;
	hide(f);
	f->fd = mkostemp(f->hidden, O_CLOEXEC);
	if (f->fd < 0)
		f->hidden[0] = '\0';
	return f->fd < 0 ? -errno : 0;
}

int us_new_file_open(struct us_new_file *f, const char *path, struct us_err *e)
{
	struct stat st;
	*f = (struct us_new_file){ .fd = -1 };
	if (strlen(path) + sizeof(HIDDEN) > sizeof(f->path))
		return us_fail(e, -ENAMETOOLONG, "-o: the name is too long");
	snprintf(f->path, sizeof(f->path), "%s", path);
	bool exists = lstat(path, &st) == 0;
	if (exists && S_ISLNK(st.st_mode)) {
		if (!follow_link(f))
			return open_in_place(f, e);
		exists = stat(f->path, &st) == 0;
	}
	if (exists && !S_ISREG(st.st_mode))
		return open_in_place(f, e);
	/* What the user may not write to, a new file must not replace. */
	if (exists && access(f->path, W_OK) < 0)
		return fail(f->path, -errno, e);
	int code = create_beside(f);
	if (code < 0)
		return exists ? open_in_place(f, e) : fail(f->path, code, e);
	if (exists && st.st_uid == geteuid())
		(void)!fchmod(f->fd, st.st_mode & 0777);
	us_new_file_give_back(f->fd);
	return 0;
}

/* A link cannot replace a file, but a name can. */
static int name_it(struct us_new_file *f)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	if (linkat(AT_FDCWD, link, AT_FDCWD, f->path, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	hide(f);
	/* For the name alone. */
	int other = mkostemp(f->hidden, O_CLOEXEC);
	if (other >= 0)
		close(other);
	if (other < 0 || unlink(f->hidden) < 0 ||
	    linkat(AT_FDCWD, link, AT_FDCWD, f->hidden, AT_SYMLINK_FOLLOW) < 0) {
		f->hidden[0] = '\0';
		return -errno;
	}
	return 0;
}

static int copy_all(int from, int to)
{
	char bytes[65536];
	off_t at = 0;
	ssize_t n;
	while ((n = pread(from, bytes, sizeof(bytes), at)) > 0) {
		int r = us_write_all(to, bytes, (size_t)n);
		if (r < 0)
			return r;
		at += n;
	}
	return n < 0 ? -errno : 0;
}

/* A file whose last name was removed cannot get another one. */
static int write_again(struct us_new_file *f, struct us_err *e)
{
	_cleanup_close_ int to = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				      0600);
	int r = to < 0 ? -errno : copy_all(f->fd, to);
	if (r == 0) {
		us_new_file_give_back(to);
		return 0;
	}
	if (to >= 0)
		unlink(f->path);
	us_fail(e, -EIO, "write %s: it was removed meanwhile, and now: %s", f->path,
		strerror(-r));
	us_hint(e, "name a file with -o that nobody removes");
	return -EIO;
}

static bool is_at(const char *path, const struct stat *is)
{
	struct stat named;
	return stat(path, &named) == 0 && named.st_dev == is->st_dev &&
	       named.st_ino == is->st_ino;
}

/* Somebody may have moved or removed it since it was kept.  Of a file that began
 * without a name, the kernel does not say where it is. */
static int find_again(struct us_new_file *f, struct us_err *e)
{
	struct stat is;
	char link[64], now[sizeof(f->path)];
	if (fstat(f->fd, &is) < 0 || is_at(f->path, &is))
		return 0;
	if (!is.st_nlink)
		return write_again(f, e);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	ssize_t n = readlink(link, now, sizeof(now) - 1);
	now[n > 0 ? n : 0] = '\0';
	if (!is_at(now, &is)) {
		us_fail(e, -EIO, "write %s: it was moved or replaced meanwhile",
			f->path);
		us_hint(e, "under its new name it is whole");
		return -EIO;
	}
	memcpy(f->path, now, sizeof(now));
	f->moved = true;
	return 0;
}

int us_new_file_keep(struct us_new_file *f, struct us_err *e)
{
	if (f->in_place)
		return 0;
	if (f->kept)
		return find_again(f, e);
	int r = f->hidden[0] ? 0 : name_it(f);
	if (r == 0 && f->hidden[0] && rename(f->hidden, f->path) < 0)
		r = -errno;
	if (r < 0)
		return fail(f->path, r, e);
	f->hidden[0] = '\0';
	f->kept = true;
	return 0;
}

bool us_new_file_is_stdout(const char *path)
{
	struct stat to, out;
	return stat(path, &to) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
	       (S_ISREG(to.st_mode) || S_ISFIFO(to.st_mode)) &&
	       to.st_dev == out.st_dev && to.st_ino == out.st_ino;
}

void us_tell_written(const char *path)
{
	char word[US_STORE_MAX_PATH];
	printf("wrote %s\n", us_shell_word(word, sizeof(word), path));
}

static bool is_file(const char *path, struct stat *ret)
{
	return stat(path, ret) == 0 && S_ISREG(ret->st_mode);
}

int us_new_file_is_none_of(const char *path, const char *const *in, size_t n,
			   struct us_err *e)
{
	struct stat to, from;
	if (!path || !is_file(path, &to))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const char *name = strcmp(in[i], "-") ? in[i] : "/dev/stdin";
		if (!is_file(name, &from) || from.st_dev != to.st_dev ||
		    from.st_ino != to.st_ino)
			continue;
		us_fail(e, -EINVAL, "write %s: it is the file that is read", path);
		us_hint(e, "name another file with -o");
		return -EINVAL;
	}
	return 0;
}

void us_new_file_drop(struct us_new_file *f)
{
	if (f->hidden[0])
		unlink(f->hidden);
	f->hidden[0] = '\0';
}

static bool id_of(const char *variable, unsigned *ret)
{
	const char *value = getenv(variable);
	char *end;
	if (!value || !*value)
		return false;
	unsigned long id = strtoul(value, &end, 10);
	*ret = (unsigned)id;
	return !*end && id < UINT32_MAX;
}

void us_new_file_give_back(int fd)
{
	unsigned uid, gid;
	if (geteuid() == 0 && id_of("SUDO_UID", &uid) && id_of("SUDO_GID", &gid))
		(void)!fchown(fd, uid, gid);
}

static void give_back_one(int folder, const char *name)
{
	struct stat st;
	_cleanup_close_ int fd = openat(folder, name,
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	/* By root, for this run: never what another user could have put there. */
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 &&
	    st.st_nlink == 1)
		us_new_file_give_back(fd);
}

void us_new_file_give_back_folder(int fd)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	if (own >= 0 && !dir)
		close(own);
	for (const struct dirent *d; dir && (d = readdir(dir));)
		give_back_one(fd, d->d_name);
	if (dir)
		closedir(dir);
	us_new_file_give_back(fd);
}
