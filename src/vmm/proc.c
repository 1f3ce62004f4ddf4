/* SPDX-License-Identifier: GPL-2.0-or-later */
/* proc.c: see proc.h. */
#include "vmm/proc.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "base/vec.h"
#include "vmm/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define MAX_ARGS_BYTES (256u << 10)
#define MAX_ARGS       4096u
#define MAX_MAPS       (1u << 18)

int us_proc_check(struct us_err *e)
{
	char self[32];
	if (us_proc_link(AT_FDCWD, "/proc/self", self, sizeof(self)) <= 0) {
		us_fail(e, -ENOENT, "/proc does not list the processes of this host");
		us_hint(e, "mount -t proc proc /proc");
		return -ENOENT;
	}
	if (strtol(self, NULL, 10) == getpid())
		return 0;
	us_fail(e, -EXDEV,
		"/proc belongs to another pid namespace than uniscope: uniscope cannot "
		"attach to its pids");
	us_hint(e, "run uniscope in the host's pid namespace (in a container: "
		   "--pid=host)");
	return -EXDEV;
}

/* The first process is root's; a container may make it the user's own. */
bool us_proc_shows_others(void)
{
	char text[16];
	return us_read_file(AT_FDCWD, "/proc/1/stat", text, sizeof(text)) > 0;
}

int us_proc_open(pid_t pid)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d", pid);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

DIR *us_proc_folder(int proc, const char *name)
{
	_cleanup_close_ int fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (d)
		(void)us_take_fd(fd);
	return d;
}

ssize_t us_proc_link(int proc, const char *name, char *ret, size_t size)
{
	ssize_t n = readlinkat(proc, name, ret, size - 1);
	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return n;
}

int us_proc_stat(int proc, struct us_proc_stat *ret)
{
	char text[1024];
	ssize_t n = us_read_file(proc, "stat", text, sizeof(text));
	if (n < 0)
		return (int)n;
	/* The name is in brackets and may hold anything, brackets too. */
	char *open_at = strchr(text, '('), *close_at = strrchr(text, ')');
	if (!open_at || !close_at || close_at < open_at)
		return -EIO;
	*close_at = '\0';
	snprintf(ret->comm, sizeof(ret->comm), "%s", open_at + 1);
	unsigned long long start, user, system;
	if (sscanf(close_at + 1,
		   " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %*s %*s %*s "
		   "%*s %*s %*s %llu",
		   &ret->state, &ret->parent, &user, &system, &start) != 5)
		return -EIO;
	ret->start_time = start;
	ret->cpu_ticks = user + system;
	return 0;
}

time_t us_proc_began(uint64_t start_time)
{
	struct timespec now, up;
	long hz = sysconf(_SC_CLK_TCK);
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	return now.tv_sec - up.tv_sec + (time_t)(start_time / (uint64_t)hz);
}

int us_proc_uid(int proc, uid_t *ret)
{
	char text[4096];
	ssize_t n = us_read_file(proc, "status", text, sizeof(text));
	if (n < 0)
		return (int)n;
	const char *at = strstr(text, "\nUid:");
	unsigned real;
	if (!at || sscanf(at, "\nUid: %u", &real) != 1)
		return -EIO;
	*ret = real;
	return 0;
}

bool us_proc_same_ns(int proc, const char *kind)
{
	char theirs[32], ours[48];
	snprintf(theirs, sizeof(theirs), "ns/%s", kind);
	snprintf(ours, sizeof(ours), "/proc/self/ns/%s", kind);
	struct stat a, b;
	return fstatat(proc, theirs, &a, 0) < 0 || stat(ours, &b) < 0 ||
	       (a.st_ino == b.st_ino && a.st_dev == b.st_dev);
}

bool us_proc_same_root(int proc)
{
	struct stat a, b;
	return us_proc_same_ns(proc, "mnt") &&
	       (fstatat(proc, "root", &a, 0) < 0 || stat("/", &b) < 0 ||
		(a.st_ino == b.st_ino && a.st_dev == b.st_dev));
}

bool us_proc_same_paths(int proc, bool jailed)
{
	return jailed ? us_proc_same_ns(proc, "mnt") : us_proc_same_root(proc);
}

bool us_proc_args(int proc, struct us_proc_args *ret)
{
	_cleanup_free_ char *text = malloc(MAX_ARGS_BYTES);
	if (!text)
		return false;
	ssize_t n = us_read_file(proc, "cmdline", text, MAX_ARGS_BYTES);
	if (n <= 0)
		return false;
	unsigned argc = 0;
	for (ssize_t i = 0; i < n; i++)
		argc += text[i] == '\0';
	/* Without its NUL, the last word was truncated, or the process has overwritten
	 * its arguments (setproctitle). */
	argc += text[n - 1] != '\0';
	if (argc > MAX_ARGS)
		argc = MAX_ARGS;
	_cleanup_free_ const char **argv = calloc(argc, sizeof(*argv));
	if (!argv)
		return false;
	const char *at = text;
	for (unsigned i = 0; i < argc; i++, at += strlen(at) + 1)
		argv[i] = at;
	unsigned skip = us_loader_skip(argc, argv);
	memmove(argv, argv + skip, (argc - skip) * sizeof(*argv));
	*ret = (struct us_proc_args){ .argc = argc - skip };
	ret->text = us_take(text);
	ret->argv = us_take(argv);
	return true;
}

void us_proc_args_fini(struct us_proc_args *a)
{
	free(a->text);
	free(a->argv);
	*a = (struct us_proc_args){ 0 };
}

static bool parse_map(const char *line, struct us_map *ret)
{
	char perm[5];
	unsigned major_nr, minor_nr;
	int at = 0;
	*ret = (struct us_map){ 0 };
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &ret->start, &ret->end, perm, &ret->offset, &major_nr, &minor_nr,
		   &ret->inode, &at) != 7 ||
	    strlen(perm) != 4 || ret->end <= ret->start)
		return false;
	ret->dev = makedev(major_nr, minor_nr);
	ret->read = perm[0] == 'r';
	ret->write = perm[1] == 'w';
	ret->exec = perm[2] == 'x';
	ret->shared = perm[3] == 's';
	us_printable(ret->name, sizeof(ret->name), line + at);
	return true;
}

int us_maps_read(pid_t pid, struct us_maps *ret, struct us_err *e)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *f = fopen(path, "re");
	if (!f) {
		int code = -errno;
		us_fail(e, code, "read %s: %s", path, strerror(errno));
		if (code == -EACCES || code == -EPERM)
			us_hint(e, "run as root or as the user of the VMM");
		return code;
	}
	struct us_maps maps = { 0 };
	char *line = NULL;
	size_t size = 0;
	int r = 0;
	for (ssize_t n; r == 0 && (n = getline(&line, &size, f)) > 0;) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		struct us_map m;
		if (!parse_map(line, &m))
			continue;
		struct us_map *slot = maps.n < MAX_MAPS ? us_vec_push(&maps) : NULL;
		if (slot)
			*slot = m;
		else
			r = us_fail(e, -ENOMEM, "read %s: too many mappings", path);
	}
	free(line);
	fclose(f);
	if (r < 0)
		us_maps_fini(&maps);
	else
		*ret = maps;
	return r;
}

void us_maps_fini(struct us_maps *m)
{
	free(m->v);
	*m = (struct us_maps){ 0 };
}
