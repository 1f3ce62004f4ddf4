/* SPDX-License-Identifier: GPL-2.0-or-later */
/* facts.c: see facts.h. */
#include "cmd/record/facts.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>

static void join_words(char *dst, size_t size, char *const *argv)
{
	size_t at = 0;
	dst[0] = '\0';
	for (; *argv && at < size; argv++) {
		int n = snprintf(dst + at, size - at, "%s%s", at ? " " : "", *argv);
		at += n > 0 ? (size_t)n : 0;
	}
}

void us_common_facts(struct us_common_facts *f, char *const *argv)
{
	struct utsname u;
	time_t t = time(NULL);
	struct tm tm;
	join_words(f->command, sizeof(f->command), argv);
	strftime(f->started, sizeof(f->started), "%Y-%m-%dT%H:%M:%S%z",
		 localtime_r(&t, &tm));
	uname(&u);
	snprintf(f->host, sizeof(f->host), "%s %s %s %s", u.nodename, u.sysname,
		 u.release, u.machine);
}
