/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gdb/arrival.c: see gdb/arrival.h. */
#include "backend/gdb/arrival.h"

#include "base/cleanup.h"
#include "vmm/guest_threads.h"
#include "vmm/proc.h"

#define SETTLE_LOOKS 10
#define SETTLE_US    10000

/* What cannot be read stays empty, and so tells nothing. */
static void look(pid_t vmm, struct us_thread_runs *ret)
{
	us_thread_runs_fini(ret);
	if (vmm > 0 && us_thread_runs_read(vmm, ret) < 0)
		us_thread_runs_fini(ret);
}

static bool all_slept(const struct us_thread_runs *before,
		      const struct us_thread_runs *after)
{
	for (size_t i = 0; i < after->n; i++)
		if (us_thread_ran(before, after, after->v[i].tid) != US_THREAD_SLEPT)
			return false;
	return true;
}

/* The threads of a guest that was paused a moment ago may still be on their way to
 * sleep, and would seem to have been woken by us. */
void us_gdb_arrival_begin(struct us_gdb_arrival *a)
{
	look(a->vmm, &a->before);
	for (unsigned i = 0; i < SETTLE_LOOKS && a->before.n; i++) {
		usleep(SETTLE_US);
		look(a->vmm, &a->after);
		bool settled = all_slept(&a->before, &a->after);
		us_thread_runs_fini(&a->before);
		a->before = a->after;
		a->after = (struct us_thread_runs){ 0 };
		if (settled)
			return;
	}
}

void us_gdb_arrival_end(struct us_gdb_arrival *a)
{
	look(a->vmm, &a->after);
}

void us_gdb_arrival_fini(struct us_gdb_arrival *a)
{
	us_thread_runs_fini(&a->before);
	us_thread_runs_fini(&a->after);
}

/* If the threads disagree, somebody woke a vCPU of a paused guest (a monitor that was
 * asked for registers), or not all of the guest was paused: not known. */
enum us_gdb_ran us_gdb_arrival_tell(const struct us_gdb_arrival *a,
				    const pid_t tid[static US_MAX_VCPUS])
{
	unsigned n = 0, n_ran = 0, n_slept = 0;
	_cleanup_close_ int proc = a->vmm > 0 ? us_proc_open(a->vmm) : -1;
	for (unsigned i = 0; proc >= 0 && i < US_MAX_VCPUS; i++) {
		if (!tid[i])
			continue;
		pid_t own = us_thread_by_inner_id(proc, tid[i]);
		enum us_thread_ran ran = us_thread_ran(&a->before, &a->after, own);
		n++;
		n_ran += ran == US_THREAD_RAN;
		n_slept += ran == US_THREAD_SLEPT;
	}
	if (n && n_slept == n)
		return US_GDB_DID_NOT_RUN;
	return n && n_ran == n ? US_GDB_DID_RUN : US_GDB_RAN_UNKNOWN;
}
