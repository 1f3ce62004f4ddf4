/* SPDX-License-Identifier: GPL-2.0-or-later */
/* root_file.h: a file of a guest, where the user says that the guest's files are. */
#ifndef US_SYMBOL_ROOT_FILE_H
#define US_SYMBOL_ROOT_FILE_H

#include "base/err.h"

/* Open path, the guest's, below the folder root for reading: it cannot lead out of the
 * folder, by links neither.  A descriptor or -errno; -ENOSYS: this host is older than
 * Linux 5.6. */
US_MUST_CHECK int us_root_file_open(const char *root, const char *path);

#endif
