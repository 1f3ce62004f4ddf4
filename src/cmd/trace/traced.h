/* SPDX-License-Identifier: GPL-2.0-or-later */
/* traced.h: a guest that is being traced, and its plugin's files. */
#ifndef US_CMD_TRACED_H
#define US_CMD_TRACED_H

#include "base/err.h"
#include "store/store.h"

#include <sys/types.h>

#define US_TRACED_ARGS 1024

struct us_traced {
	pid_t pid;
	char trace[US_STORE_MAX_PATH], counts[US_STORE_MAX_PATH];
	/* The process's command line; points into text. */
	char *argv[US_TRACED_ARGS + 1];
	char text[131072];
};

/* target: a pid, the name of a guest (-name), or NULL for the only one.  -ENOENT: none,
 * or not this one; -EINVAL: several. */
US_MUST_CHECK int us_traced_find(const char *target, struct us_traced *ret,
				 struct us_err *e);

#endif
