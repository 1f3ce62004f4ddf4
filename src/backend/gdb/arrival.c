/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gdb/arrival.c: see gdb/arrival.h. */
#include "backend/gdb/arrival.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "vmm/guest_threads.h"
#include "vmm/proc.h"

#define SETTLE_LOOKS 30
#define SETTLE_US    10000
#define WORK_NS	     (2 * US_NS_PER_MS)
#define WORK_TURNS   8

/* What cannot be read stays empty, and so tells nothing. */
static void look(pid_t vmm, struct us_thread_runs *ret)
{
	us_thread_runs_fini(ret);
	if (vmm > 0 && us_thread_runs_read(vmm, ret) < 0)
		us_thread_runs_fini(ret);
}

/* It sleeps since the look before, or it has worked for longer than the way to sleep
 * takes, on a host however busy. */
static bool is_clear(const struct us_gdb_arrival *a, pid_t tid)
{
	return us_thread_ran(&a->earlier, &a->before, tid) == US_THREAD_SLEPT ||
	       us_thread_worked(&a->first, &a->before, tid, WORK_NS, WORK_TURNS);
}

static bool all_clear(const struct us_gdb_arrival *a)
{
	for (size_t i = 0; i < a->before.n; i++)
		if (!is_clear(a, a->before.v[i].tid))
			return false;
	return true;
}

/* The threads of a guest that was paused a moment ago may still be on their way to
 * sleep, and would seem to have been woken by us. */
void us_gdb_arrival_begin(struct us_gdb_arrival *a)
{
	look(a->vmm, &a->first);
	look(a->vmm, &a->before);
	for (unsigned i = 0; i < SETTLE_LOOKS && a->before.n; i++) {
		us_thread_runs_fini(&a->earlier);
		a->earlier = a->before;
		a->before = (struct us_thread_runs){ 0 };
		usleep(SETTLE_US);
		look(a->vmm, &a->before);
		if (all_clear(a))
			return;
	}
}

void us_gdb_arrival_end(struct us_gdb_arrival *a)
{
	look(a->vmm, &a->after);
}

void us_gdb_arrival_fini(struct us_gdb_arrival *a)
{
	us_thread_runs_fini(&a->first);
	us_thread_runs_fini(&a->earlier);
	us_thread_runs_fini(&a->before);
	us_thread_runs_fini(&a->after);
}

static bool did_run(const struct us_gdb_arrival *a, pid_t tid)
{
	return is_clear(a, tid) &&
	       us_thread_ran(&a->before, &a->after, tid) == US_THREAD_RAN;
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
		n++;
		n_ran += did_run(a, own);
		n_slept += us_thread_ran(&a->before, &a->after, own) == US_THREAD_SLEPT;
	}
	if (n && n_slept == n)
		return US_GDB_DID_NOT_RUN;
	return n && n_ran == n ? US_GDB_DID_RUN : US_GDB_RAN_UNKNOWN;
}
