/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_file.h: a file of fixed size that QEMU's plugin and uniscope have mapped. */
#ifndef US_TRACE_SHARED_FILE_H
#define US_TRACE_SHARED_FILE_H

#include <stdint.h>

/*
 * Make it, zeroed, with its blocks: what is missing is missed now, not in the midst of
 * the guest, which would be killed by it (SIGBUS).  size: bytes.  0 or -errno: then
 * there is no such file any more.
 */
int us_shared_file_make(const char *path, uint64_t size, void **ret);

#endif
