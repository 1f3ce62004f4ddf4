/* SPDX-License-Identifier: GPL-2.0-or-later */
/* frozen.c: see frozen.h. */
#include "vmm/frozen.h"

#include "base/clock.h"
#include "base/io.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EVERY_NS    (100 * US_NS_PER_MS)
#define MOVED_NS    US_NS_PER_SEC /* to look whether it was moved */
#define MOST_LEVELS 16

/* Its path in the line of a hierarchy, "4:freezer:/x"; NULL: it is of another. */
static const char *path_in(const char *line, bool v1)
{
	if (!v1)
		return strncmp(line, "0::/", 4) ? NULL : line + 3;
	line += strspn(line, "0123456789");
	return strncmp(line, ":freezer:/", 10) ? NULL : line + 9;
}

bool us_frozen_path(const char *cgroup, bool v1, char *ret, size_t size)
{
	const char *line = cgroup, *path = NULL;
	while (line && !(path = path_in(line, v1))) {
		line = strchr(line, '\n');
		line += line != NULL;
	}
	if (!line)
		return false;
	line = path;
	size_t n = strcspn(line, "\n");
	if (n >= size || !strncmp(line, "/..", 3))
		return false;
	memcpy(ret, line, n);
	ret[n] = '\0';
	return true;
}

/* False also if there is no such file: in the root. */
static bool is_asked(int dir, const char *path, bool *ret_there)
{
	char text[8];
	ssize_t n = us_read_file(dir, path, text, sizeof(text));
	*ret_there = n >= 0;
	return n > 0 && text[0] == '1';
}

/* Freezing a cgroup freezes all below it. */
static bool is_any_asked(int dir)
{
	char path[3 * MOST_LEVELS + sizeof("cgroup.freeze")] = "cgroup.freeze";
	for (unsigned level = 0; level < MOST_LEVELS; level++) {
		bool there;
		if (is_asked(dir, path, &there))
			return true;
		if (!there)
			return false;
		memmove(path + 3, path, strlen(path) + 1);
		memcpy(path, "../", 3);
	}
	return false;
}

static int open_below(const char *mount, const char *path)
{
	char whole[PATH_MAX + 64];
	snprintf(whole, sizeof(whole), "%s%s", mount, path);
	return open(whole, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void look_up(struct us_frozen *f)
{
	char name[64], text[2 * PATH_MAX], path[PATH_MAX];
	snprintf(name, sizeof(name), "/proc/%d/task/%d/cgroup", f->pid, f->tid);
	if (us_read_file(AT_FDCWD, name, text, sizeof(text)) <= 0)
		return;
	if (us_frozen_path(text, false, path, sizeof(path))) {
		f->dir = open_below("/sys/fs/cgroup", path);
		if (f->dir < 0) /* a host that has both versions */
			f->dir = open_below("/sys/fs/cgroup/unified", path);
	}
	if (us_frozen_path(text, true, path, sizeof(path)))
		f->v1_dir = open_below("/sys/fs/cgroup/freezer", path);
}

void us_frozen_open(struct us_frozen *f, pid_t pid, pid_t tid)
{
	*f = (struct us_frozen){ .pid = pid, .tid = tid, .dir = -1, .v1_dir = -1 };
	look_up(f);
}

void us_frozen_close(struct us_frozen *f)
{
	if (f->dir >= 0)
		close(f->dir);
	if (f->v1_dir >= 0)
		close(f->v1_dir);
	f->dir = f->v1_dir = -1;
}

static bool is_v1_asked(int dir)
{
	char text[16];
	return us_read_file(dir, "freezer.state", text, sizeof(text)) > 0 &&
	       text[0] == 'F';
}

bool us_frozen_now(struct us_frozen *f, uint64_t now_ns)
{
	if (f->read_ns && now_ns - f->read_ns < EVERY_NS)
		return f->is;
	f->read_ns = now_ns;
	if (f->pid && now_ns - f->open_ns >= MOVED_NS) {
		f->open_ns = now_ns;
		us_frozen_close(f);
		look_up(f);
	}
	f->is = (f->dir >= 0 && is_any_asked(f->dir)) ||
		(f->v1_dir >= 0 && is_v1_asked(f->v1_dir));
	return f->is;
}
