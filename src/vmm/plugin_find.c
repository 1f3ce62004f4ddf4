/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_find.c: see plugin_find.h. */
#include "vmm/plugin_find.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME "uniscope-plugin.so"

/* The last "/lib..." of the configured folder: what is below its prefix. */
static const char *below_prefix(void)
{
	const char *ret = NULL;
	for (const char *at = US_PLUGIN_DIR; (at = strstr(at, "/lib")); at++)
		ret = at;
	return ret;
}

/* For a program in PREFIX/bin: PREFIX/lib/x86_64-linux-gnu/uniscope or its like, as it
 * was installed, wherever PREFIX is now. */
static bool in_moved(char ret[static PATH_MAX], const char *folder)
{
	const char *slash = strrchr(folder, '/');
	const char *below = below_prefix();
	if (!slash || strcmp(slash, "/bin") != 0 || !below)
		return false;
	snprintf(ret, PATH_MAX, "%.*s%s/%s", (int)(slash - folder), folder, below,
		 NAME);
	return access(ret, R_OK) == 0;
}

int us_plugin_find(char ret[static PATH_MAX], struct us_err *e)
{
	char exe[3072]; /* leaves room for the rest of the path */
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[n < 0 ? 0 : n] = '\0';
	char *slash = strrchr(exe, '/');
	if (slash) {
		*slash = '\0';
		snprintf(ret, PATH_MAX, "%s/%s", exe, NAME);
		if (access(ret, R_OK) == 0 || in_moved(ret, exe))
			return 0;
	}
	snprintf(ret, PATH_MAX, "%s/%s", US_PLUGIN_DIR, NAME);
	if (access(ret, R_OK) == 0)
		return 0;
	us_fail(e, -ENOENT,
		"find the plugin for QEMU: neither %.200s nor %.200s has it", exe, ret);
	us_hint(e, "make install puts it there; move bin and lib together");
	return -ENOENT;
}
