/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_file.c: see shared_file.h. */
#include "trace/plugin/shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Only a regular file is removed: a device, say, may have been named by mistake. */
static void discard(const char *path, int fd)
{
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		unlink(path);
}

int us_shared_file_make(const char *path, uint64_t size, void **ret)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int code = posix_fallocate(fd, 0, (off_t)size);
	void *p = code ? MAP_FAILED
		       : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!code && p == MAP_FAILED)
		code = errno;
	if (code)
		discard(path, fd);
	close(fd);
	*ret = code ? NULL : p;
	return -code;
}

int us_shared_file_check(const char *begin, const char *magic)
{
	return !memcmp(begin, magic, 8)	  ? 0
	       : !memcmp(begin, magic, 6) ? -EPROTO
					  : -EBADMSG;
}
