/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lazy_ram.c: see lazy_ram.h. */
#include "vmm/lazy_ram.h"

#include "base/cleanup.h"
#include "vmm/proc.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_FDS (1u << 16)

static bool has_userfaultfd(int proc)
{
	DIR *d = us_proc_folder(proc, "fd");
	bool found = false;
	unsigned n = 0;
	if (!d)
		return false;
	for (struct dirent *ent; !found && n < MAX_FDS && (ent = readdir(d)); n++) {
		char to[64];
		if (isdigit((unsigned char)ent->d_name[0]) &&
		    us_proc_link(dirfd(d), ent->d_name, to, sizeof(to)) > 0)
			found = !strcmp(to, "anon_inode:[userfaultfd]");
	}
	closedir(d);
	return found;
}

static void add_range(struct us_lazy_ram *l, struct us_lazy_range r)
{
	if (l->n && l->v[l->n - 1].end == r.start)
		l->v[l->n - 1].end = r.end;
	else if (l->n < US_LAZY_RANGES)
		l->v[l->n++] = r;
	else
		l->all = true;
}

/* "VmFlags: rd wr mr mw me ac um".  An access waits for a page that is missing (um), or
 * is in a file but not mapped (ui); see Documentation/filesystems/proc.rst. */
static bool is_waited_for(const char *flags)
{
	return strstr(flags, " um") || strstr(flags, " ui");
}

static void read_ranges(int proc, struct us_lazy_ram *l)
{
	int fd = openat(proc, "smaps", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f) {
		us_closep(&fd);
		l->all = true;
		return;
	}
	struct us_lazy_range r = { 0 };
	char *line = NULL;
	size_t size = 0;
	while (getline(&line, &size, f) > 0) {
		us_hva start, end;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2)
			r = (struct us_lazy_range){ start, end };
		else if (!strncmp(line, "VmFlags:", 8) && is_waited_for(line))
			add_range(l, r);
	}
	l->all |= ferror(f) != 0;
	free(line);
	fclose(f);
}

void us_lazy_ram_open(pid_t pid, struct us_lazy_ram *ret)
{
	_cleanup_close_ int proc = us_proc_open(pid);
	*ret = (struct us_lazy_ram){ .pagemap = -1 };
	if (proc < 0 || !has_userfaultfd(proc))
		return;
	ret->asked = true;
	read_ranges(proc, ret);
	if (ret->n || ret->all)
		ret->pagemap = openat(proc, "pagemap", O_RDONLY | O_CLOEXEC);
}

void us_lazy_ram_close(struct us_lazy_ram *l)
{
	if (l->n || l->all)
		us_closep(&l->pagemap);
	*l = (struct us_lazy_ram){ .pagemap = -1 };
}

bool us_lazy_ram_has(const struct us_lazy_ram *l, us_hva start, us_hva end)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->v[i].start < end && start < l->v[i].end)
			return true;
	return l->all;
}
