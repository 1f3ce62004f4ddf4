/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io.c: see io.h. */
#include "base/io.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int us_write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;
	while (len) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t us_read_full(int fd, void *buf, size_t len)
{
	char *p = buf;
	size_t at = 0;
	while (at < len) {
		ssize_t n = read(fd, p + at, len - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		at += (size_t)n;
	}
	return (ssize_t)at;
}

ssize_t us_read_file(int dirfd, const char *path, char *buf, size_t size)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = us_read_full(fd, buf, size - 1);
	buf[n < 0 ? 0 : n] = '\0';
	return n;
}

#define MOST_FDS (1 << 20) /* no limit: so many at least can be closed in a moment */

void us_close_range(unsigned first, unsigned last)
{
#ifdef SYS_close_range /* a C library may lack the function */
	/* Not before Linux 5.9, and not with each container's filter. */
	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
#endif
	long limit = sysconf(_SC_OPEN_MAX);
	unsigned end = limit > 0 && limit < MOST_FDS ? (unsigned)limit : MOST_FDS;
	for (unsigned fd = first; fd <= last && fd < end; fd++)
		close((int)fd);
}
