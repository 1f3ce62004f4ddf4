/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watchdog.h: a process that lets the guest go on if uniscope dies or hangs.
 *
 * Forked when the backend opens, it holds the same connection to the stub or monitor
 * as its parent does, so it can speak even if nobody else may connect.  It wakes when
 * the parent is gone (end of a pipe) or when the guest was held for longer than
 * limit_ms, and then calls resume().  It ignores the terminal's signals and has a
 * session of its own.
 */
#ifndef US_BACKEND_WATCHDOG_H
#define US_BACKEND_WATCHDOG_H

#include "base/err.h"

#include <stdbool.h>

struct us_watchdog;

/* resume runs in the watchdog's process; held says whether the guest was stopped at
 * that moment as far as the parent had said.  It must end within a second. */
US_MUST_CHECK int us_watchdog_start(void (*resume)(void *ctx, bool held), void *ctx,
				    unsigned limit_ms, struct us_watchdog **ret,
				    struct us_err *e);
/* Hot path: about to stop the guest / it runs again. No system call. */
void us_watchdog_hold(struct us_watchdog *w);
void us_watchdog_release(struct us_watchdog *w);
/* Has it had to step in? Then the connection must not be used any more. */
bool us_watchdog_fired(const struct us_watchdog *w);
/* The guest runs and is detached: the watchdog ends without a word. Accepts NULL. */
void us_watchdog_stop(struct us_watchdog *w);

#endif
