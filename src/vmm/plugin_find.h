/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_find.h: where uniscope's plugin for QEMU is. */
#ifndef US_VMM_PLUGIN_FIND_H
#define US_VMM_PLUGIN_FIND_H

#include "base/err.h"

#include <limits.h>

/* In build folders the plugin is beside the program, else where it was installed: below
 * the prefix that the program is in now, or the configured one.  -ENOENT. */
US_MUST_CHECK int us_plugin_find(char ret[static PATH_MAX], struct us_err *e);

#endif
