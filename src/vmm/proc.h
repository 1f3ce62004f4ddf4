/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proc.h: what /proc says of one process (proc(5)), and of its threads and maps.
 *
 * A process may end at any moment: then a read fails with -ENOENT or -ESRCH, which the
 * caller must expect.  All sizes and counts are bounded.
 */
#ifndef US_VMM_PROC_H
#define US_VMM_PROC_H

#include "base/err.h"
#include "guest/regs.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Does /proc show the processes by the pids of our own namespace?  -ENOENT: it is not
 * mounted; -EXDEV: it belongs to another pid namespace. */
US_MUST_CHECK int us_proc_check(struct us_err *e);

/* Does /proc show the processes of other users, too?  false: mounted with hidepid, and
 * this user is not excepted. */
bool us_proc_shows_others(void);

/* Open /proc/PID: it refers to this process only, even if its pid is reused later. */
int us_proc_open(pid_t pid);

/* A folder in it, "fd" or "task"; the caller closes it. NULL: errno says why not. */
DIR *us_proc_folder(int proc, const char *name);

/* A symbolic link, NUL-terminated; its length or -errno. */
ssize_t us_proc_link(int proc, const char *name, char *ret, size_t size);

struct us_proc_stat {
	char comm[64];
	char state; /* 'R', 'S', 'Z', ... */
	pid_t parent;
	uint64_t start_time; /* field 22: clock ticks after boot */
	uint64_t cpu_ticks;  /* fields 14 and 15: of CPU time, user and system */
};
int us_proc_stat(int proc, struct us_proc_stat *ret);
/* A start_time by the host's date, as files have it: in s, rounded down. */
time_t us_proc_began(uint64_t start_time);

/* Real user id; 0 or -errno. */
int us_proc_uid(int proc, uid_t *ret);

/* Is it in our own namespace of this kind ("mnt", "net", "pid")?  true if not known. */
bool us_proc_same_ns(int proc, const char *kind);

/* Do paths mean the same files for it as for us: is it in our mount namespace, with our
 * root directory (no chroot, no jailer)?  true if not known. */
bool us_proc_same_root(int proc);

/* The same of the paths on its command line; jailed: it changed its root directory
 * itself, when it had opened them. */
bool us_proc_same_paths(int proc, bool jailed);

/* The command line, split into words, beginning with the program that a dynamic loader
 * executes, if one does (loader.h); false: none (kernel thread, zombie). */
struct us_proc_args {
	char *text; /* owned */
	const char **argv;
	unsigned argc;
};
bool us_proc_args(int proc, struct us_proc_args *ret);
void us_proc_args_fini(struct us_proc_args *a);

/* One line of /proc/PID/maps. */
struct us_map {
	us_hva start, end;
	uint64_t offset; /* in the file */
	uint64_t inode;	 /* 0: anonymous */
	dev_t dev;	 /* of the file system */
	bool read, write, exec, shared;
	char name[128]; /* cut; "" for anonymous memory */
};

struct us_maps {
	struct us_map *v;
	size_t n, cap;
};

/* Reads all of them, sorted by address. */
US_MUST_CHECK int us_maps_read(pid_t pid, struct us_maps *ret, struct us_err *e);
void us_maps_fini(struct us_maps *m);

#endif
