/* SPDX-License-Identifier: GPL-2.0-or-later */
/* silent-disk.h: a file system that never answers. */
#ifndef US_TEST_SILENT_DISK_H
#define US_TEST_SILENT_DISK_H

#include "unit.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* A file system whose server never says a word, in a name space of its own. */
static bool mount_silent(const char *folder)
{
	char map[64], options[96];
	unsigned uid = getuid(), gid = getgid();
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (uid && unshare(CLONE_NEWUSER) < 0)
		return false;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (uid && !write_file("/proc/self/uid_map", map))
		return false;
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fd, uid ? 0 : uid,
		 uid ? 0 : gid);
	return mount("silent", folder, "fuse", 0, options) == 0;
}

enum {
	GOOD,
	CANNOT = 77,
	WRONG = 99,
};

/* In a process of its own, for what it mounts: what it says. */
static int on_silent_disk(int (*ask)(void))
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(ask());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#endif
