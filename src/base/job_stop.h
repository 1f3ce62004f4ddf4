/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_stop.h: the terminal stops this process (Ctrl-Z) only while it holds no guest.
 *
 * A process that is stopped resumes nobody.  So SIGTSTP, SIGTTIN and SIGTTOU are
 * caught, and the process stops itself as soon as none of its threads holds anything.
 * SIGSTOP cannot be caught.
 */
#ifndef US_BASE_JOB_STOP_H
#define US_BASE_JOB_STOP_H

#include <stdbool.h>

/* Catch the three signals, except those that are ignored.  Programs that are started
 * later find them as usual. */
void us_job_stop_catch(void);

/* Stop this process once nothing is held.  Returns when it has been continued.  The
 * calling thread must hold nothing. */
void us_job_stop(void);

/*
 * Hot path: the caller is about to stop somebody else; one us_job_let_go() is due for
 * each true.  False: this process is about to be stopped, so hold nothing more now, but
 * let go what is held.
 */
bool us_job_hold(void);
/* The same for a thread that holds nothing: it waits until the process has been stopped
 * and continued. */
void us_job_hold_wait(void);
/* Hot path: it runs again.  Stops this process if that was to be done. */
void us_job_let_go(void);

#endif
