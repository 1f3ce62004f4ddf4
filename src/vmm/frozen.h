/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frozen.h: has the owner of a VMM frozen it, with the freezer of cgroup v2 (`docker
 * pause`, `systemctl freeze`) or v1?
 *
 * A frozen thread looks like one that sleeps where it was (cgroup.freeze in Linux,
 * Documentation/admin-guide/cgroup-v2.rst): a vCPU's thread seems to wait in KVM_RUN.
 *
 * cgroup.freeze of the thread's cgroup and of those above it tells.  The state in
 * cgroup.events does not: before Linux 6.14, KVM has a kernel thread in the VMM's
 * cgroup, which is never frozen.  freezer.state of v1 begins with F from the request
 * on, whichever cgroup above it was for.
 *
 * A VMM may be moved to another cgroup at any time, so that is looked up again.
 */
#ifndef US_VMM_FROZEN_H
#define US_VMM_FROZEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct us_frozen {
	pid_t pid, tid;	  /* pid 0: its cgroups stay as they are */
	int dir;	  /* of the thread's cgroup; -1: not known */
	int v1_dir;	  /* the same for v1's freezer */
	uint64_t open_ns; /* when they were looked up last, or 0 */
	uint64_t read_ns; /* when it was asked last, or 0 */
	bool is;	  /* what it said then */
};

/* Never fails: without such cgroups, or outside the part that is visible here, nothing
 * is ever frozen. */
void us_frozen_open(struct us_frozen *f, pid_t pid, pid_t tid);
void us_frozen_close(struct us_frozen *f);

/* Hot path: is it frozen?  Asks ten times a second at most,
 * and looks up the cgroup once. */
bool us_frozen_now(struct us_frozen *f, uint64_t now_ns);

/* The path of a cgroup below the mount of cgroup v2, or of v1's freezer, from
 * /proc/PID/cgroup; false: none is named there, or it is outside the part that is
 * visible here. */
bool us_frozen_path(const char *cgroup, bool v1, char *ret, size_t size);

#endif
