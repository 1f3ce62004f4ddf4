/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watchdog.h: a process that resumes the guest if uniscope dies or hangs.
 *
 * The backend forks it when it opens.  It shares its parent's connection to the stub or
 * monitor, so it can speak even if nobody else may connect.  It wakes when the parent
 * is gone (end of a pipe) or when the guest was held for longer than limit_ms.  Then it
 * calls resume(), with priority over all others that want a CPU if it is allowed to.
 * It ignores the terminal's signals and has a session of its own.  It keeps open only
 * the files, and has only the capabilities, that it was told to keep.
 */
#ifndef US_BACKEND_WATCHDOG_H
#define US_BACKEND_WATCHDOG_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <sys/types.h>

struct us_watchdog;

/* What the watchdog does, and with what. */
struct us_watchdog_opts {
	/* Runs in the watchdog's process when it starts, before anything has happened,
	 * so that resume() is fast later; may be NULL. */
	void (*prepare)(void *ctx);
	/* Runs in the watchdog's process, once.  held: the guest was stopped at that
	 * moment, as far as the parent had said.  It may take long but must end: a VMM
	 * with a busy disk takes seconds to stop, and closing the connection earlier
	 * discards what the VMM has not read.  ctx is as it was in the parent at
	 * us_watchdog_start(). */
	void (*resume)(void *ctx, bool held);
	void *ctx;
	unsigned limit_ms; /* longest hold; 0: no limit, only death counts */
	const int *keep;   /* file descriptors that resume() needs */
	size_t n_keep;
	uint64_t rights; /* capabilities that resume() needs: US_RIGHT() of each */
};

/* Call it before there are threads: the child continues after a fork. */
US_MUST_CHECK int us_watchdog_start(const struct us_watchdog_opts *o,
				    struct us_watchdog **ret, struct us_err *e);

/* Hot path, no system call: the caller is about to stop the guest.  False: the watchdog
 * has stepped in, and the guest must not be stopped any more. */
bool us_watchdog_hold(struct us_watchdog *w);
/* The same for a caller that has just read the clock.  *now_ns is read again if the
 * terminal has stopped this process meanwhile (base/job_stop.h). */
bool us_watchdog_hold_since(struct us_watchdog *w, uint64_t *now_ns);
/* The guest is still stopped, and the limit starts anew; it is watched without a gap.
 * False: it was not held, or the watchdog has stepped in. */
bool us_watchdog_renew(struct us_watchdog *w);
/* The guest runs again.  False: the watchdog resumed it first.  The terminal may stop
 * this process before it returns. */
bool us_watchdog_release(struct us_watchdog *w);
/* Hot path: when the last hold ended, before any such stop: at the latest when the
 * watchdog stepped in; now if it has not ended. */
uint64_t us_watchdog_let_go_ns(const struct us_watchdog *w);

/* Make the watchdog take over now, as if this process had ended: it treats a held guest
 * as held for too long.  The connection must not be used any more. */
void us_watchdog_alarm(struct us_watchdog *w);

/* Has the watchdog stepped in?  Then the connection must not be used any more. */
bool us_watchdog_fired(const struct us_watchdog *w);

pid_t us_watchdog_pid(const struct us_watchdog *w);

/* Call it when the guest runs and is detached: the watchdog ends silently.  If it has
 * stepped in, this waits until it has ended, for two seconds at most.  Accepts NULL. */
void us_watchdog_stop(struct us_watchdog *w);

#endif
