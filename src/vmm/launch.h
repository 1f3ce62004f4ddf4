/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * launch.h: start a VMM so that it can be watched from its first instruction.
 *
 * The command is the user's own.  For QEMU, these options are added:
 *   -qmp unix:DIR/qmp.sock      a monitor for a backend
 *   -qmp unix:DIR/start.sock    one for ourselves (a monitor serves one client)
 *   -gdb unix:DIR/gdb.sock      if it may run under TCG and has no stub yet
 *   -S                          it waits for us_launch_go(), unless it has -S already:
 *                               then it waits for its user
 * DIR is a folder that only we may enter.  Other VMMs run as given, from the start.
 *
 *	us_launch_start(argv, &l, e);
 *	us_launch_wait(l, 5000, &guest, e);
 *	... open a backend on the guest ...
 *	us_launch_go(l, e);
 *	... record ...
 *	us_launch_close(l);
 *
 * The VMM outlives us if we are killed.  If that happens before us_launch_go(), a small
 * process that waits for our end starts the guest in our place.
 */
#ifndef US_VMM_LAUNCH_H
#define US_VMM_LAUNCH_H

#include "vmm/guest_list.h"

struct us_launch;

/*
 * Start argv (NULL-terminated, copied), with our standard streams, in a session of its
 * own.  The VMM may use the terminal, but gets no signal from it: Ctrl-C ends the
 * recording, and us_launch_close() then ends the VMM.  We have to reap the child.
 * -ENOENT, -EACCES, ...: it cannot be executed; -EINVAL: -daemonize, which would take
 * it out of our control, or QEMU's user mode, which has no guest.
 */
US_MUST_CHECK int us_launch_start(char *const argv[], struct us_launch **ret,
				  struct us_err *e);

/* The same with nothing added: no sockets, no -S.  Do not call us_launch_wait() or
 * us_launch_go() for it. */
US_MUST_CHECK int us_launch_start_plain(char *const argv[], struct us_launch **ret,
					struct us_err *e);

/* Likewise, and its standard output and error go to these files, which stay the
 * caller's.  It is killed if we are: nobody else knows of it. */
US_MUST_CHECK int us_launch_start_to(char *const argv[], int out, int error,
				     struct us_launch **ret, struct us_err *e);

/*
 * Wait until the guest can be inspected: its vCPUs exist.  *ret has our sockets as its
 * qmp and gdb, and for QEMU the threads of all vCPUs.  The guest may be a descendant of
 * the started process (sudo, a script).  -ETIMEDOUT; -ECHILD: it has ended; -EINTR: a
 * signal was handled.
 */
US_MUST_CHECK int us_launch_wait(struct us_launch *l, unsigned timeout_ms,
				 struct us_guest *ret, struct us_err *e);

/*
 * Let the guest run; does nothing unless -S was added.  A backend that stops and
 * resumes the whole guest (gdb, qmp) may have started it before: that is no error.
 */
US_MUST_CHECK int us_launch_go(struct us_launch *l, struct us_err *e);

/* CLOCK_MONOTONIC, ns: right before the command was executed. */
uint64_t us_launch_exec_ns(const struct us_launch *l);
pid_t us_launch_pid(const struct us_launch *l);
/* Where the added sockets are, as endpoints without scheme; "" if none. */
const char *us_launch_qmp(const struct us_launch *l);
const char *us_launch_gdb(const struct us_launch *l);

/* Has it ended?  *ret_status as waitpid gives it; may be NULL. */
bool us_launch_ended(struct us_launch *l, int *ret_status);

/* SIGTERM to its whole process group, even if it has ended itself; wait 3 s for it,
 * then SIGKILL; reap it; remove the sockets; restore the terminal's modes.  Accepts
 * NULL. */
void us_launch_close(struct us_launch *l);

#endif
