/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file_name.c: see file_name.h. */
#include "cmd/file_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void us_file_name(const struct us_guest *g, unsigned n, char *ret, size_t size)
{
	char name[sizeof(g->name)];
	snprintf(name, sizeof(name), "%s", g->name);
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			*c = '_';
	if (name[0] == '.')
		name[0] = '_';
	unsigned more = n + (name[0] ? 0 : 1); /* a pid is less of a name than a name */
	if (more == 0)
		snprintf(ret, size, "%s.data", name);
	else if (more == 1)
		snprintf(ret, size, "%s%s%d.data", name, name[0] ? "-" : "", g->pid);
	else
		snprintf(ret, size, "%s%s%d-%u.data", name, name[0] ? "-" : "", g->pid,
			 more);
}
