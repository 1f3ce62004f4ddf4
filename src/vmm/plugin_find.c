/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_find.c: see plugin_find.h. */
#include "vmm/plugin_find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME "uniscope-plugin.so"

int us_plugin_find(char ret[static PATH_MAX], struct us_err *e)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[n < 0 ? 0 : n] = '\0';
	char *slash = strrchr(exe, '/');
	if (slash) {
		*slash = '\0';
		snprintf(ret, PATH_MAX, "%.4000s/%s", exe, NAME);
		if (access(ret, R_OK) == 0)
			return 0;
	}
	snprintf(ret, PATH_MAX, "%s/%s", US_PLUGIN_DIR, NAME);
	if (access(ret, R_OK) == 0)
		return 0;
	us_fail(e, -ENOENT,
		"find the plugin for QEMU: neither %.200s nor %.200s has it", exe, ret);
	us_hint(e, "make install puts it there");
	return -ENOENT;
}
