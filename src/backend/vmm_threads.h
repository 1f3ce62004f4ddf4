/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmm_threads.h: has a thread of the VMM begun or ended since this was last asked?
 * QEMU migrates a guest in a thread of its own: without a new one, no migration began.
 */
#ifndef US_BACKEND_VMM_THREADS_H
#define US_BACKEND_VMM_THREADS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct us_vmm_threads {
	DIR *tasks;	/* /proc/PID/task, owned; NULL: not known */
	uint64_t known; /* of the threads that were there the last time */
};

/* Setup path.  pid 0, or one that may not be looked at: not known. */
void us_vmm_threads_open(struct us_vmm_threads *t, pid_t pid);
void us_vmm_threads_close(struct us_vmm_threads *t);

/* Hot path: three system calls, no allocation.  True also the first time, and if it is
 * not known. */
bool us_vmm_threads_changed(struct us_vmm_threads *t);

#endif
