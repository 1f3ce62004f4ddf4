/* SPDX-License-Identifier: GPL-2.0-or-later */
/* traced.c: see traced.h. */
#include "cmd/trace/traced.h"

#include "base/cleanup.h"
#include "vmm/cmdline.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Read the command line of a process; false: it has none, or we may not read it. */
static bool read_command(pid_t pid, struct us_traced *t)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, t->text, sizeof(t->text) - 1);
	unsigned argc = 0;
	if (n <= 0)
		return false;
	t->text[n] = '\0';
	for (ssize_t at = 0; at < n && argc < US_TRACED_ARGS;
	     at += (ssize_t)strlen(t->text + at) + 1)
		t->argv[argc++] = t->text + at;
	t->argv[argc] = NULL;
	t->pid = pid;
	return true;
}

/* The value of name in "A,name=value,..."; two commas stand for one in a value. */
static bool value_of(const char *word, const char *name, char ret[US_STORE_MAX_PATH])
{
	const char *p = strstr(word, name);
	size_t n = 0;
	for (p = p ? p + strlen(name) : ""; *p; p++) {
		if (*p == ',' && *++p != ',')
			break;
		if (n + 1 < US_STORE_MAX_PATH)
			ret[n++] = *p;
	}
	ret[n] = '\0';
	return n;
}

static bool is_traced(struct us_traced *t)
{
	for (unsigned i = 0; t->argv[i] && t->argv[i + 1]; i++)
		if (!strcmp(t->argv[i], "-plugin") &&
		    strstr(t->argv[i + 1], "uniscope-plugin.so") &&
		    value_of(t->argv[i + 1], ",trace=", t->trace) &&
		    value_of(t->argv[i + 1], ",counts=", t->counts))
			return true;
	return false;
}

static bool is_meant(const struct us_traced *t, const char *target)
{
	_cleanup_free_ struct us_cmdline *c = calloc(1, sizeof(*c));
	unsigned argc = 0;
	char *end;
	long pid = target ? strtol(target, &end, 10) : 0;
	if (!target || (!*end && pid == t->pid))
		return true;
	while (t->argv[argc])
		argc++;
	return c && us_cmdline_parse("qemu", argc, (const char *const *)t->argv, c) &&
	       !strcmp(c->name, target);
}

static int fail_none(const char *target, struct us_err *e)
{
	us_fail(e, -ENOENT, "%s%sno guest that is traced", target ? target : "",
		target ? ": " : "");
	us_hint(e, "uniscope trace -- qemu-system-... starts one");
	return -ENOENT;
}

int us_traced_find(const char *target, struct us_traced *ret, struct us_err *e)
{
	DIR *proc = opendir("/proc");
	pid_t found = 0, another = 0;
	for (struct dirent *d; proc && (d = readdir(proc));) {
		if (!isdigit((unsigned char)d->d_name[0]) ||
		    !read_command((pid_t)atoi(d->d_name), ret) || !is_traced(ret) ||
		    !is_meant(ret, target))
			continue;
		another = found;
		found = ret->pid;
		if (another)
			break;
	}
	if (proc)
		closedir(proc);
	if (another) {
		us_fail(e, -EINVAL, "several guests are traced: %d, %d", (int)another,
			(int)found);
		us_hint(e, "name one: its pid, or its -name");
		return -EINVAL;
	}
	if (!found || !read_command(found, ret) || !is_traced(ret))
		return fail_none(target, e);
	return 0;
}
