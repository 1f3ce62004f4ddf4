/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_file.h: a file of fixed size that QEMU's plugin and uniscope have mapped. */
#ifndef US_TRACE_SHARED_FILE_H
#define US_TRACE_SHARED_FILE_H

#include <stdint.h>

/*
 * Create the file, zeroed, with all its blocks.  If the disk is full, this fails now;
 * later, SIGBUS would kill the guest.  size: bytes.  0 or -errno; then no file is left.
 */
int us_shared_file_make(const char *path, uint64_t size, void **ret);

/* Does a file begin with this magic?  Both have 8 bytes, of which the last two may be
 * others in another version.  0; -EPROTO: it is that version's; -EBADMSG: it is no such
 * file. */
int us_shared_file_check(const char *begin, const char *magic);

#endif
