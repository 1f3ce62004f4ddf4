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
#define MOST_LEVELS 16

bool us_frozen_path(const char *cgroup, char *ret, size_t size)
{
	const char *line = cgroup;
	while (line && strncmp(line, "0::/", 4)) {
		line = strchr(line, '\n');
		line += line != NULL;
	}
	if (!line)
		return false;
	line += 3;
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

void us_frozen_open(struct us_frozen *f, pid_t pid, pid_t tid)
{
	/* The second: a host that has both versions. */
	static const char *const mounts[] = { "/sys/fs/cgroup",
					      "/sys/fs/cgroup/unified" };
	char name[64], text[2 * PATH_MAX], path[PATH_MAX], whole[PATH_MAX + 64];
	*f = (struct us_frozen){ .dir = -1 };
	snprintf(name, sizeof(name), "/proc/%d/task/%d/cgroup", pid, tid);
	if (us_read_file(AT_FDCWD, name, text, sizeof(text)) <= 0 ||
	    !us_frozen_path(text, path, sizeof(path)))
		return;
	for (size_t i = 0; f->dir < 0 && i < sizeof(mounts) / sizeof(*mounts); i++) {
		snprintf(whole, sizeof(whole), "%s%s", mounts[i], path);
		f->dir = open(whole, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
}

void us_frozen_close(struct us_frozen *f)
{
	if (f->dir >= 0)
		close(f->dir);
	f->dir = -1;
}

bool us_frozen_now(struct us_frozen *f, uint64_t now_ns)
{
	if (f->dir < 0 || (f->read_ns && now_ns - f->read_ns < EVERY_NS))
		return f->is;
	f->read_ns = now_ns;
	f->is = is_any_asked(f->dir);
	return f->is;
}
