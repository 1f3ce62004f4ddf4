/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch_guard.h: a process that starts a launched guest if we die before we could. */
#ifndef US_VMM_LAUNCH_GUARD_H
#define US_VMM_LAUNCH_GUARD_H

#include <sys/types.h>

struct us_launch_guard {
	pid_t pid; /* 0: none */
	int pipe;  /* a byte sent here dismisses it; -1: none */
};

struct us_launch_guard us_launch_guard_none(void);

/* endpoint: the monitor that will receive "cont".  0 or -errno. */
int us_launch_guard_start(struct us_launch_guard *g, const char *endpoint);

/* Call it when it is no longer needed: ends and reaps it.  May be called again. */
void us_launch_guard_dismiss(struct us_launch_guard *g);

#endif
