/* SPDX-License-Identifier: GPL-2.0-or-later */
/* root_file.h: opens a guest's file below the folder that the user names for them. */
#ifndef US_SYMBOL_ROOT_FILE_H
#define US_SYMBOL_ROOT_FILE_H

#include "base/err.h"

/* Open the guest's path below the folder root, for reading.  It cannot lead out of the
 * folder, not even by links.  Returns a descriptor or -errno; -ENOSYS: this host is
 * older than Linux 5.6. */
US_MUST_CHECK int us_root_file_open(const char *root, const char *path);

#endif
