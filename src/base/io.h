/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io.h: whole reads and writes, even if the kernel splits them; many files closed. */
#ifndef US_BASE_IO_H
#define US_BASE_IO_H

#include <stddef.h>
#include <sys/types.h>

/* Write all of buf; 0 or -errno.  EINTR and short writes are continued. */
int us_write_all(int fd, const void *buf, size_t len);

/* Read until len bytes or the end; the count, or -errno. */
ssize_t us_read_full(int fd, void *buf, size_t len);

/*
 * Read a small file (/proc) at path, relative to dirfd (AT_FDCWD), into buf as a
 * NUL-terminated string.  The count without the NUL, or -errno.  A longer file is
 * cut.
 */
ssize_t us_read_file(int dirfd, const char *path, char *buf, size_t size);

/* Close all of first to last.  Does not allocate. */
void us_close_range(unsigned first, unsigned last);

#endif
