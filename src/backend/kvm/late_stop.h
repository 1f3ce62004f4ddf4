/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvm/late_stop.h: threads of a VMM that had not stopped when uniscope detached.
 *
 * A requested stop cannot be canceled, and a thread that runs, or sleeps where nothing
 * stops it, cannot be detached from.  Once it stops, it stays so until the thread that
 * traces it resumes it or ends; and the main thread lives on to read symbols.  The
 * kernel tells of a stop by SIGCHLD, in the thread that traces: a handler resumes it.
 */
#ifndef US_BACKEND_KVM_LATE_STOP_H
#define US_BACKEND_KVM_LATE_STOP_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Setup path, from the thread that traces tid: resume tid when it stops, in whatever
 * this thread does by then.  What us_job_hold() was called for stays held until then.
 * False: this cannot be done; only the end of the calling thread resumes it.
 */
bool us_late_stop_expect(pid_t tid);

#endif
