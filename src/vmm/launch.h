/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * launch.h: start a VMM so that it can be watched from its first instruction.
 *
 * The command is the user's own.  For QEMU a monitor on a private unix socket is
 * added, and a gdb stub when the accelerator is TCG; other VMMs run as given.
 */
#ifndef US_VMM_LAUNCH_H
#define US_VMM_LAUNCH_H

#include "vmm/guest_list.h"

struct us_launch;

/*
 * Start argv, with our standard streams; the child is ours to reap.  It gets no
 * signal of ours: Ctrl-C ends the recording, us_launch_close() then ends the VMM.
 * added_qmp and added_gdb say where the extra sockets are ("" if none).
 */
US_MUST_CHECK int us_launch_start(char *const argv[], struct us_launch **ret,
				  struct us_err *e);
/* Wait until the guest can be inspected (its vCPUs are there). */
US_MUST_CHECK int us_launch_wait(struct us_launch *l, unsigned timeout_ms,
				 struct us_guest *ret, struct us_err *e);
pid_t us_launch_pid(const struct us_launch *l);
/* Has it ended?  *ret_status as waitpid gives it. */
bool us_launch_ended(struct us_launch *l, int *ret_status);
/* SIGTERM, a while, SIGKILL; reap; remove the sockets.  Accepts NULL. */
void us_launch_close(struct us_launch *l);

#endif
