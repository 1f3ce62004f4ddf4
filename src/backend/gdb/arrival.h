/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gdb/arrival.h: did a guest run before QEMU stopped it for a debugger that connected?
 *
 * From 8.1 on QEMU does not say.  Its threads do: to stop a guest that runs, QEMU wakes
 * each vCPU's thread, also that of a halted vCPU, and waits until it has run
 * (pause_all_vcpus()).  To stop one that is paused it wakes none of them
 * (do_vm_stop()).
 */
#ifndef US_BACKEND_GDB_ARRIVAL_H
#define US_BACKEND_GDB_ARRIVAL_H

#include "vmm/guest_list.h"
#include "vmm/thread_runs.h"

struct us_gdb_arrival {
	pid_t vmm; /* 0: not known */
	/* The first look; the last two before connecting; afterwards. */
	struct us_thread_runs first, earlier, before, after;
};

enum us_gdb_ran {
	US_GDB_RAN_UNKNOWN, /* it may have done either */
	US_GDB_DID_RUN,
	US_GDB_DID_NOT_RUN, /* paused, or suspended (S3), which looks the same */
};

/* Shortly before connecting.  Takes 10 ms, on a busy host up to 300 ms. */
void us_gdb_arrival_begin(struct us_gdb_arrival *a);
/* After the stub's first answer, before it is asked for anything of a vCPU. */
void us_gdb_arrival_end(struct us_gdb_arrival *a);
void us_gdb_arrival_fini(struct us_gdb_arrival *a);

/* tid: the threads of all vCPUs, as numbered in the VMM's pid namespace; 0: no vCPU. */
enum us_gdb_ran us_gdb_arrival_tell(const struct us_gdb_arrival *a,
				    const pid_t tid[static US_MAX_VCPUS]);

#endif
